/** What there is when nothing runs: looks at the directory, and says which phase is next. Creates the database of a group that is being founded. */
import type { DirectoryState } from '../../../ports/database-directory.ts';
import type { LifeContext, Next } from './context.ts';

export async function inspect(context: LifeContext): Promise<Next> {
  const { directory, missing, onStep, server } = context.options;
  // What a process before this one left running might write more WAL behind what is judged here. As a crash of it: what it would do in order is not chosen, either.
  await server.stop('immediate');
  const condemned = await directory.condemned();
  if (condemned !== null) return { kind: 'lost', loss: condemned };
  const found = await directory.inspect();
  if (found.kind === 'usable') return byRole(context, found.state);
  if (found.kind !== 'missing')
    return { kind: 'lost', loss: { cause: 'databaseLost', reason: found.reason } };
  const what = missing();
  if (what.kind === 'lost') return what;
  onStep('creating');
  const state = await directory.create(context.end.signal);
  onStep(null);
  return { kind: 'written', state };
}

function byRole({ options }: LifeContext, state: DirectoryState): Next {
  const { role, position } = state;
  switch (role.kind) {
    case 'founder':
      return { kind: 'written', state };
    case 'copying': {
      const reason = `a copy of ${role.from}'s database was not completed`;
      return { kind: 'lost', loss: { cause: 'databaseLost', reason } };
    }
    case 'standby':
    case 'promoting':
    case 'primary': {
      if (!options.logReaches(position.slot)) {
        const reason = `the database ends at slot ${position.slot}, and this replica's log begins above`;
        return { kind: 'lost', loss: { cause: 'logPurged', reason } };
      }
      return role.kind === 'standby' ? { kind: 'standby', state } : { kind: 'written', state };
    }
    default:
      return role satisfies never;
  }
}
