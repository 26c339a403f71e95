/** A Query message that fails in PostgreSQL with an error of the gateway's: so the client's transaction is one that has failed, too. Pure. */
import type { GatewayError } from '../../../../pgwire/backend-messages.ts';
import { frameOf } from '../../../../pgwire/backend-messages.ts';
import { front } from '../../../../pgwire/message-types.ts';

export function raisingQuery({ sqlState, message, detail, hint }: GatewayError): Buffer {
  const options = [
    `ERRCODE = ${quoted(sqlState)}`,
    `MESSAGE = ${quoted(message)}`,
    ...(detail === undefined ? [] : [`DETAIL = ${quoted(detail)}`]),
    ...(hint === undefined ? [] : [`HINT = ${quoted(hint)}`]),
  ];
  const body = `BEGIN RAISE EXCEPTION USING ${options.join(', ')}; END`;
  return frameOf(front.query, Buffer.from(`DO LANGUAGE plpgsql ${quoted(body)}\0`, 'utf8'));
}

/** Whatever `standard_conforming_strings` is. */
function quoted(text: string): string {
  return `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}
