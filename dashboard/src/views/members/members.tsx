/** Who is in the group, and whether they all hold the same data. */
import { memo, useState } from 'react';
import type { ClusterStatus, VerifyResult } from '../../../../server/src/api/status.ts';
import { Button } from '../../components/button.tsx';
import { Panel } from '../../components/panel.tsx';
import { Term } from '../../components/term.tsx';
import { ReplicaName } from '../../components/replica-name.tsx';
import { useRequests } from '../../components/run.tsx';
import { describeVerify } from '../../model/event-text.ts';
import { incarnationName, replicaOf } from '../../model/incarnation.ts';
import { newestMembership, outsidersOf } from '../../model/members-view.ts';
import type { Member } from '../../model/members-view.ts';
import { payloadOf, selfComparison } from '../../model/protocol-view.ts';
import { unreachable } from '../../model/unreachable.ts';
import { Backups } from './backups.tsx';
import { MemberChange } from './member-change.tsx';
import { OutsiderRow, RemoveButton } from './outsider-row.tsx';
import { type ReplicaChange, useReplicaChange } from './use-replica-change.ts';
import './members.css';

interface MembersProps {
  readonly cluster: ClusterStatus;
  /** The last comparison that was told of. */
  readonly heard: VerifyResult | null;
  readonly ids: readonly string[];
}

/** Of whom it was asked, before it is done. */
export interface AskedChange {
  readonly kind: 'remove' | 'replace';
  readonly replica: string;
}

type Compared =
  | { readonly state: 'idle' }
  | { readonly state: 'running' }
  | { readonly state: 'failed'; readonly message: string }
  | { readonly state: 'done'; readonly result: VerifyResult };

export const Members = memo(function Members({ cluster, heard, ids }: MembersProps) {
  const membership = newestMembership(cluster);
  // Where statements travel replicas compare their answers by themselves.
  const isAsked = payloadOf(cluster) === 'wal';
  const [own, setOwn] = useState<Compared>({ state: 'idle' });
  // The leader compares by itself now and then, and people do from the command line: whichever is of the later slot counts.
  const newer =
    heard !== null && (own.state === 'idle' || (own.state === 'done' && heard.slot > own.result.slot));
  const compared: Compared = newer ? { state: 'done', result: heard } : own;
  const requests = useRequests();
  const change = useReplicaChange(cluster);
  const [asked, setAsked] = useState<AskedChange | null>(null);
  const compare = (repair: boolean): void => {
    if (requests === null) return;
    setOwn({ state: 'running' });
    void requests
      .verify(repair)
      .then((outcome) =>
        setOwn(
          outcome.ok
            ? { state: 'done', result: outcome.result }
            : { state: 'failed', message: outcome.error.message },
        ),
      );
  };
  return (
    <Panel
      title="Members"
      className="members-panel"
      note={
        membership === null ? null : (
          <span className="badge num" title="Counts up with each change" data-testid="members-version">
            version {membership.version}
          </span>
        )
      }
      actions={
        <>
          <Button
            asksServer
            disabled={!change.may({ action: 'add' })}
            title={change.why ?? 'Start another replica: it copies a database, catches up, then votes'}
            data-testid="member-add"
            onClick={() => change.ask({ action: 'add' })}
          >
            Add a replica
          </Button>
          {isAsked ? <CompareButtons compared={compared} onCompare={compare} /> : null}
        </>
      }
    >
      <div className="members-scroll">
        <table className="members num" data-testid="members">
          <thead>
            <tr>
              <th scope="col">Replica</th>
              <th scope="col">
                <Term word="member">Role</Term>
              </th>
              <th scope="col">
                <Term word="incarnation">Incarnation</Term>
              </th>
              <th scope="col">Peers</th>
              <th scope="col">SQL</th>
              <th scope="col" title="Whether it is what the others have, by the last comparison">
                Data
              </th>
              <th scope="col">Change</th>
            </tr>
          </thead>
          <tbody>
            {(membership?.members ?? []).map((member) => (
              <MemberRow
                key={member.replica}
                member={member}
                ids={ids}
                compared={compared}
                may={change.may}
                onAsk={setAsked}
              />
            ))}
            {outsidersOf(cluster).map((id) => (
              <OutsiderRow key={id} id={id} ids={ids} may={change.may} onAsk={setAsked} />
            ))}
          </tbody>
        </table>
      </div>
      <p className="verify-result" role="status" data-testid="verify-result" data-state={compared.state}>
        {isAsked ? verifyLine(compared) : selfComparison(cluster)}
      </p>
      <p className="verify-result" role="status" data-testid="member-change" data-state={change.state}>
        {change.why ?? change.text}
      </p>
      <Backups />
      <MemberChange
        asked={asked}
        members={membership?.members ?? []}
        onClose={() => setAsked(null)}
        onDo={({ kind, replica }) => change.ask({ action: kind, replica })}
      />
    </Panel>
  );
});

interface CompareButtonsProps {
  readonly compared: Compared;
  readonly onCompare: (repair: boolean) => void;
}

function CompareButtons({ compared, onCompare }: CompareButtonsProps) {
  const running = compared.state === 'running';
  const differs =
    compared.state === 'done' && compared.result.replicas.some(({ outcome }) => outcome === 'differs');
  return (
    <>
      {differs ? (
        <Button
          asksServer
          tone="primary"
          icon="heal"
          data-testid="verify-repair"
          title="Compare again, and restore what differs from the majority"
          onClick={() => onCompare(true)}
        >
          Repair
        </Button>
      ) : null}
      <Button
        asksServer
        icon="compare"
        disabled={running}
        data-testid="verify"
        title="Compare the data of all replicas as of one slot, while they serve"
        onClick={() => onCompare(false)}
      >
        {running ? 'Comparing…' : 'Verify'}
      </Button>
    </>
  );
}

interface MemberRowProps {
  readonly member: Member;
  readonly ids: readonly string[];
  readonly compared: Compared;
  readonly may: ReplicaChange['may'];
  readonly onAsk: (asked: AskedChange) => void;
}

function MemberRow({ member, ids, compared, may, onAsk }: MemberRowProps) {
  const { replica, incarnation, role, address } = member;
  const expected = incarnation === 0;
  return (
    <tr data-testid={`member-row-${replica}`}>
      <th scope="row">
        <span className="members-name">
          <ReplicaName id={replica} ids={ids} />
        </span>
      </th>
      <td>
        <span className="badge" data-tone={role === 'voter' ? 'plain' : 'warn'}>
          {expected ? 'expected' : role}
        </span>
      </td>
      <td className="mono">{expected ? '–' : incarnationName(replica, incarnation)}</td>
      <td className="quiet">
        {address.host}:{address.port}
      </td>
      <td className="quiet">
        {address.pgwire.host}:{address.pgwire.port}
      </td>
      <Verdict replica={replica} compared={compared} />
      <td className="member-acts">
        <Button
          asksServer
          disabled={!may({ action: 'replace', replica })}
          aria-label={`Replace ${replica}`}
          data-testid={`member-replace-${replica}`}
          onClick={() => onAsk({ kind: 'replace', replica })}
        >
          Replace
        </Button>
        <RemoveButton replica={replica} may={may} onAsk={onAsk} />
      </td>
    </tr>
  );
}

function Verdict({ replica, compared }: { readonly replica: string; readonly compared: Compared }) {
  const found =
    compared.state === 'done'
      ? compared.result.replicas.find((each) => replicaOf(each.replica) === replica)
      : undefined;
  if (found === undefined) return <td className="quiet">–</td>;
  const words = { equal: 'equal', differs: 'differs', noReport: 'no report' } as const;
  const detail = found.detail.join(', ');
  return (
    <td
      data-testid={`verdict-${replica}`}
      data-outcome={found.outcome}
      title={detail === '' ? undefined : detail}
    >
      <span className="verdict">
        <span
          className="dot"
          data-tone={found.outcome === 'equal' ? 'good' : found.outcome === 'differs' ? 'bad' : 'warn'}
          aria-hidden="true"
        />
        {words[found.outcome]}
        {detail === '' ? null : <span className="quiet verdict-detail">{detail}</span>}
      </span>
    </td>
  );
}

function verifyLine(compared: Compared): string {
  switch (compared.state) {
    case 'idle':
      return 'Verify compares the data of all databases on all replicas as of one slot, while they serve.';
    case 'running':
      return 'Every replica reads its data as of the same slot…';
    case 'failed':
      return compared.message;
    case 'done': {
      const text = describeVerify(compared.result);
      return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
    }
    default:
      return unreachable(compared);
  }
}
