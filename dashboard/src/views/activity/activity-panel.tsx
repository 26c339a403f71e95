/** What each replica's PostgreSQL is at: its clients' sessions and what they wait for, and the statements that have taken most time. */
import { memo, useCallback, useEffect, useRef, useState } from 'react';
import { Tab, TabList, TabPanel, Tabs } from 'react-aria-components';
import { Panel } from '../../components/panel.tsx';
import { useRequests } from '../../components/run.tsx';
import { ReplicaChoice } from '../../components/replica-choice.tsx';
import { useServerAway } from '../../components/server-away.tsx';
import type { ActivityOutcome } from '../../run/requests.ts';
import { SessionTable } from './session-table.tsx';
import { StatementTable } from './statement-table.tsx';
import { useActivity } from './use-activity.ts';
import './activity.css';

interface ActivityPanelProps {
  readonly ids: readonly string[];
  readonly leader: string | null;
}

export const ActivityPanel = memo(function ActivityPanel({ ids, leader }: ActivityPanelProps) {
  const requests = useRequests();
  const away = useServerAway();
  const [chosen, setChosen] = useState<string | null>(null);
  const [body, isSeen] = useIsSeen();
  const picked = chosen !== null && ids.includes(chosen) ? chosen : null;
  const replica = picked ?? leader ?? ids[0] ?? '';
  const outcome = useActivity(requests, replica, isSeen && !away);
  return (
    <Panel
      title="PostgreSQL"
      className="activity-panel"
      note={<span className="quiet">asked while it is looked at</span>}
      actions={
        <ReplicaChoice
          label="Replica whose PostgreSQL is looked at"
          name="activity"
          ids={ids}
          leader={leader}
          value={replica}
          onChange={setChosen}
        />
      }
    >
      <div ref={body} data-testid="activity">
        {requests?.activity === undefined ? (
          <p className="empty" data-testid="activity-none">
            Not here: a simulated group or a kept run has a model of PostgreSQL, or none, and that keeps no
            such figures. A live cluster has them.
          </p>
        ) : (
          <Tabs className="activity-tabs">
            <TabList aria-label="What to look at" className="activity-tab-list">
              <Tab id="sessions" className="activity-tab" data-testid="activity-sessions">
                Sessions and waits
              </Tab>
              <Tab id="statements" className="activity-tab" data-testid="activity-statements">
                Statements by total time
              </Tab>
            </TabList>
            <TabPanel id="sessions">
              <Told outcome={outcome} replica={replica}>
                {({ activity }) => <SessionTable activity={activity} replica={replica} />}
              </Told>
            </TabPanel>
            <TabPanel id="statements">
              <Told outcome={outcome} replica={replica}>
                {({ activity }) => <StatementTable told={activity.statements} replica={replica} />}
              </Told>
            </TabPanel>
          </Tabs>
        )}
      </div>
    </Panel>
  );
});

interface ToldProps {
  readonly outcome: ActivityOutcome | null;
  readonly replica: string;
  readonly children: (told: Extract<ActivityOutcome, { readonly ok: true }>) => React.ReactNode;
}

function Told({ outcome, replica, children }: ToldProps) {
  if (outcome === null) return <p className="empty">Asking {replica}…</p>;
  return outcome.ok ? (
    children(outcome)
  ) : (
    <p className="empty" role="status" data-testid="activity-problem">
      {outcome.error.message}
    </p>
  );
}

function useIsSeen() {
  const [isSeen, setIsSeen] = useState(false);
  const observer = useRef<IntersectionObserver | null>(null);
  const ref = useCallback((element: HTMLElement | null) => {
    observer.current?.disconnect();
    if (element === null) return;
    observer.current = new IntersectionObserver(([entry]) => setIsSeen(entry?.isIntersecting === true));
    observer.current.observe(element);
  }, []);
  useEffect(() => () => observer.current?.disconnect(), []);
  return [ref, isSeen] as const;
}
