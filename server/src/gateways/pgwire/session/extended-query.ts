import type { ClientMessage } from './client-input.ts';
import type { SessionContext } from './context.ts';
export interface ExtendedQuery {
  readonly skipping: boolean;
  take(message: ClientMessage): Promise<void>;
}
export const createExtendedQuery = (_context: SessionContext): ExtendedQuery => ({
  skipping: false,
  async take() {},
});
