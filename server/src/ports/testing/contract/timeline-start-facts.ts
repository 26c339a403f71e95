/** Facts about a standby that is ended, or promoted, while it receives the beginning of a timeline. */
import { expect, it } from 'vitest';
import type { Timeline } from '../../../wal/lsn.ts';
import type { ContractContext } from '../database-server-contract.ts';
import { type FedStandby, until } from '../database-fixture.ts';
import { promote, replayed } from './promotion-facts.ts';
import { putAndCommit, valuesOf } from './standby-facts.ts';

export function timelineStartFacts({ group: open }: ContractContext): void {
  it.each(['fast', 'immediate'] as const)(
    'a standby goes on that was ended before it had of the next timeline what lies below its fork: %s',
    async (mode) => {
      const group = await open(2);
      const [next, other] = group.standbys as [FedStandby, FedStandby];
      group.primary.chooseAlways();
      await putAndCommit(group, 'a');
      const limit = group.log.position.end;
      await putAndCommit(group, 'b');
      await replayed(group, next);
      await other.untilReplayed(group.log.position.end);
      // It asks for the segment in which the timeline begins from its start on, whatever it has of it.
      other.limit = limit;
      other.limitedFrom = 2 as Timeline;
      const primary = await promote(group, next);
      await primary.open();
      primary.chooseAlways();
      await putAndCommit({ primary }, 'c');
      await until(other.fixture.timers, () => other.streamed.at(-1)!.startsWith('2 '));
      const reportsBefore = other.reports.length;
      await until(other.fixture.timers, () => {
        other.standby.ask();
        return other.reports.slice(reportsBefore).some(({ written }) => written === limit);
      });
      await other.fixture.server.stop(mode);
      other.limit = null;
      const endings: string[] = [];
      other.fixture.server.onExit((reason) => endings.push(reason));
      await other.launch();
      await until(other.fixture.timers, () => {
        other.standby.ask();
        return endings.length > 0 || other.replayed >= group.log.position.end;
      });
      expect(endings).toEqual([]);
      expect(await valuesOf(other)).toEqual(['a', 'b', 'c']);
    },
  );

  it('a standby is promoted that had of its timeline only a part of what lies below its fork', async () => {
    const group = await open(2);
    const [next, other] = group.standbys as [FedStandby, FedStandby];
    group.primary.chooseAlways();
    await putAndCommit(group, 'a');
    const limit = group.log.position.end;
    await putAndCommit(group, 'b');
    await replayed(group, next);
    await other.untilReplayed(group.log.position.end);
    other.limit = limit;
    other.limitedFrom = 2 as Timeline;
    await promote(group, next);
    await until(other.fixture.timers, () => other.streamed.at(-1)!.startsWith('2 '));
    const reportsBefore = other.reports.length;
    await until(other.fixture.timers, () => {
      other.standby.ask();
      return other.reports.slice(reportsBefore).some(({ written }) => written === limit);
    });
    await next.fixture.server.stop('immediate');
    const primary = await promote(group, other);
    expect(primary.primary.timeline).toBe(3);
    expect(await valuesOf(other)).toEqual(['a', 'b']);
  });
}
