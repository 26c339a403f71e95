/** Faults of links between replicas: cut, one-way, slow, lossy. Clients are never cut off: whoever they reach must answer truthfully. */
import type { FaultRequest } from '../../server/src/api/status.ts';
import { betweenSides, cutOf, majorityRing, type LinkAction, type LinkBreak } from './link-table.ts';
import { faultIfPossible, freshStatus, replicasNow, type Begun, type Scene } from './scene.ts';
import type { PlannedFault } from './schedule.ts';

/** The delay of one direction; election timeouts begin at 1,200 ms. */
const delayMsMax = 400;

export async function isolate(scene: Scene, planned: PlannedFault): Promise<Begun> {
  const id = await choose(scene, planned);
  return breakLinks(scene, planned, `${id} cut off from all others`, betweenSides([id], others(scene, id)));
}

/** All that one replica says, or all that it is told. */
export async function oneWay(scene: Scene, planned: PlannedFault): Promise<Begun> {
  const id = await choose(scene, planned);
  const isMute = (planned.choice * 100) % 1 < 0.5;
  const breaks = others(scene, id).map((other) => (isMute ? cutOf(id, other) : cutOf(other, id)));
  return breakLinks(scene, planned, isMute ? `nobody hears ${id}` : `${id} hears nobody`, breaks);
}

export function halves(scene: Scene, planned: PlannedFault): Promise<Begun> {
  const order = rotated(scene.ids, planned.choice);
  const left = order.slice(0, Math.ceil(order.length / 2));
  const right = order.slice(left.length);
  const what = `${left.join(', ')} cut off from ${right.join(', ')}`;
  return breakLinks(scene, planned, what, betweenSides(left, right));
}

export function ring(scene: Scene, planned: PlannedFault): Promise<Begun> {
  const order = rotated(scene.ids, planned.choice);
  return breakLinks(scene, planned, `majority ring ${order.join(' > ')}`, majorityRing(order));
}

export async function slow(scene: Scene, planned: PlannedFault): Promise<Begun> {
  const id = await choose(scene, planned);
  const delayMs = 50 + Math.round(((planned.choice * 1000) % 1) * (delayMsMax - 50));
  return breakLinks(
    scene,
    planned,
    `links of ${id} delayed by ${delayMs} ms`,
    around(scene, id, 'delay', delayMs),
  );
}

export function lossy(scene: Scene, planned: PlannedFault): Promise<Begun> {
  const share = 0.05 + Math.round(planned.choice * 25) / 100;
  return breakLinks(
    scene,
    planned,
    `${Math.round(share * 100)} % of all messages lost`,
    everywhere(scene, 'drop', share),
  );
}

export function duplicate(scene: Scene, planned: PlannedFault): Promise<Begun> {
  const share = 0.1 + Math.round(planned.choice * 40) / 100;
  const what = `${Math.round(share * 100)} % of all messages doubled`;
  return breakLinks(scene, planned, what, everywhere(scene, 'duplicate', share));
}

export async function breakLinks(
  scene: Scene,
  { number }: PlannedFault,
  what: string,
  breaks: readonly LinkBreak[],
): Promise<Begun> {
  await carry(scene, scene.links.add(number, breaks));
  const statuses = (await replicasNow(scene)).flatMap((replica) => freshStatus(replica) ?? []);
  return {
    what,
    // A replica that is down cannot show it, and is told when it comes back.
    tookEffect: statuses.some(({ faults }) => faults.length > 0),
    end: () => carry(scene, scene.links.remove(number)),
  };
}

/** A replica that refuses to work with a damaged log has no links either; the demo says so, and tells the others. */
async function carry(scene: Scene, requests: readonly FaultRequest[]): Promise<void> {
  await Promise.all(requests.map((request) => faultIfPossible(scene, request)));
}

/** Links do not belong to a process, so whoever is struck already may be chosen too. */
async function choose(scene: Scene, { wish, choice }: PlannedFault): Promise<string> {
  const replicas = await replicasNow(scene);
  const leader = replicas.find((replica) => freshStatus(replica)?.role === 'leader')?.id;
  if (wish === 'leader' && leader !== undefined) return leader;
  const from = scene.ids.filter((id) => wish !== 'follower' || id !== leader);
  return from[Math.floor(choice * from.length)]!;
}

function others({ ids }: Scene, id: string): readonly string[] {
  return ids.filter((each) => each !== id);
}

function around(scene: Scene, id: string, action: LinkAction, amount: number): readonly LinkBreak[] {
  return others(scene, id).flatMap((other) => [
    { from: id, to: other, action, amount },
    { from: other, to: id, action, amount },
  ]);
}

function everywhere({ ids }: Scene, action: LinkAction, amount: number): readonly LinkBreak[] {
  return ids.flatMap((from) => ids.flatMap((to) => (from === to ? [] : [{ from, to, action, amount }])));
}

function rotated(ids: readonly string[], choice: number): readonly string[] {
  const first = Math.floor(choice * ids.length);
  return [...ids.slice(first), ...ids.slice(0, first)];
}
