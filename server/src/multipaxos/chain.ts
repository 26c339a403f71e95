/**
 * The chain of configurations along the log.
 *
 * Responsible for: taking on a configuration when the commit point passes it. Invariants: versions grow by one along the log, and two that
 * follow each other differ by at most one voter.
 */
import { votersDiffering } from './configuration.ts';
import { violated } from './invariants.ts';
import { renewRoster } from './roster.ts';
import type { State } from './state.ts';
import type { Entry } from './types/entries.ts';
import type { Slot } from './types/names.ts';

type ConfigurationEntry = Extract<Entry, { kind: 'configuration' }>;

/**
 * The commit point has passed a configuration: it is in force from the next slot on. A newer one may be known already, if a peer told
 * it; then the log has to agree.
 */
export function configurationChosen(state: State, slot: Slot, entry: ConfigurationEntry): void {
  const { configuration } = state;
  const { version, members } = entry;
  if (version < configuration.version) return;
  if (version === configuration.version) {
    if (slot !== configuration.slot) {
      violated('ConfigurationsFormAChain', `version ${version} in slots ${configuration.slot} and ${slot}`);
    }
    return;
  }
  if (version !== configuration.version + 1 || slot <= configuration.slot) {
    violated(
      'ConfigurationsFormAChain',
      `version ${version} follows ${configuration.version} in slot ${slot}`,
    );
  }
  if (votersDiffering(configuration.members, members) > 1) {
    violated('ConfigurationsFormAChain', `version ${version} changes more than one voter`);
  }
  state.configuration = { version, slot, members };
  renewRoster(state);
}
