/** A backup of the whole group, taken from the page: how far it is, where it is, and how it is tested and restored. */
import { useEffect, useState } from 'react';
import type { BackupsStatus } from '../../../../server/src/api/replica-changes.ts';
import { Button } from '../../components/button.tsx';
import { formatBytes } from '../../model/format.ts';
import { useRequests } from '../../components/run.tsx';

const lookMs = 1000;

export function Backups() {
  const requests = useRequests();
  const [status, setStatus] = useState<BackupsStatus | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const isRunning = status !== null && status.running !== null;
  const take = async (): Promise<void> => {
    const outcome = await requests?.backups?.(true);
    if (outcome === undefined) return;
    setProblem(outcome.ok ? null : outcome.error.message);
    // One that was refused because another runs is shown as far as that one is.
    const told = outcome.ok ? outcome : await requests?.backups?.(false);
    if (told?.ok === true) setStatus(told.status);
  };
  useEffect(() => {
    if (requests?.backups === undefined) return undefined;
    let isWanted = true;
    const look = async (): Promise<void> => {
      const outcome = await requests.backups?.(false);
      if (isWanted && outcome?.ok === true) setStatus(outcome.status);
    };
    // Once at first: one may be under way that was asked for before, or elsewhere.
    void look();
    if (!isRunning) return () => (isWanted = false);
    const timer = setInterval(() => void look(), lookMs);
    return () => {
      isWanted = false;
      clearInterval(timer);
    };
  }, [requests, isRunning]);
  const isMissing = requests?.backups === undefined;
  const last = status?.last ?? null;
  return (
    <div className="backups" data-testid="backups" data-state={stateOf(status, problem)}>
      <Button
        asksServer
        disabled={isRunning || isMissing}
        title="The whole group in one file, taken while it serves"
        data-testid="backup-take"
        onClick={() => void take()}
      >
        {isRunning ? 'Backing up…' : 'Back up'}
      </Button>
      <div className="backups-told" role="status">
        {isMissing ? 'There is nothing to back up here: this is no live cluster.' : null}
        {status?.running == null ? null : (
          <span className="num">
            {formatBytes(status.running.bytes)} received; it has its name when all of it is there and was
            checked.
          </span>
        )}
        {(problem ?? status?.problem ?? null) === null ? null : (
          <span className="backups-problem" data-testid="backup-problem">
            {problem ?? status?.problem}
          </span>
        )}
        {last === null || isRunning ? null : (
          <>
            <span>
              <code className="mono" data-testid="backup-file">
                {last.file}
              </code>{' '}
              <span className="quiet num">{formatBytes(last.bytes)}, whole by its checksum</span>
            </span>
            <span>
              Test it: <code className="mono">barista backup verify {last.file}</code>
            </span>
            <span>
              Restore it into a new group:{' '}
              <code className="mono">barista restore {last.file} --config new.yaml</code>
            </span>
          </>
        )}
      </div>
    </div>
  );
}

function stateOf(status: BackupsStatus | null, problem: string | null): string {
  if (problem !== null || (status?.problem ?? null) !== null) return 'failed';
  if (status?.running != null) return 'running';
  return status?.last == null ? 'idle' : 'done';
}
