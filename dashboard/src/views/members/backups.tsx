/** A backup of the whole group, taken from the page: how far it is, where it is, and how it is tested and restored. */
import { useEffect, useState } from 'react';
import type { BackupsStatus } from '../../../../server/src/api/replica-changes.ts';
import { Button } from '../../components/button.tsx';
import { formatBytes } from '../../components/format.ts';
import { useRequests } from '../../components/run.tsx';

const lookMs = 1000;

export function Backups() {
  const requests = useRequests();
  const [status, setStatus] = useState<BackupsStatus | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const isRunning = status !== null && status.running !== null;
  const ask = async (take: boolean): Promise<void> => {
    const outcome = await requests?.backups?.(take);
    if (outcome === undefined) return;
    if (outcome.ok) setStatus(outcome.status);
    setProblem(outcome.ok ? null : outcome.error.message);
  };
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setInterval(() => void ask(false), lookMs);
    return () => clearInterval(timer);
    // oxlint-disable-next-line react/exhaustive-deps -- asked again while it runs
  }, [isRunning]);
  const isMissing = requests?.backups === undefined;
  const last = status?.last ?? null;
  return (
    <div className="backups" data-testid="backups" data-state={stateOf(status, problem)}>
      <Button
        asksServer
        disabled={isRunning || isMissing}
        title="The whole group in one file, taken while it serves"
        data-testid="backup-take"
        onClick={() => void ask(true)}
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
