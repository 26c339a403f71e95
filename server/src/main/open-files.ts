/**
 * What a replica may hold of clients and of connections that have not logged in, so that these never take the descriptors that its log and its database need.
 *
 * Pure, but for `openFilesMax`.
 */
import { CliError } from './errors.ts';
import { processLimit } from './process-limit.ts';

export interface FittedBounds {
  readonly clientsMax: number;
  /** Connections that have said nothing yet, and those that prove who they are. */
  readonly openingMax: number;
  readonly provingMax: number;
}

/** Of its log, its database and its own sessions. */
const ownFiles = 200;
/** The most that the HTTP door and the peers' hold, those that are asked for and those that ask for nothing. */
const otherDoors = 400;
const thriftDoor = 1_500;
/** A client is a connection here, and one to PostgreSQL or the leader. */
const filesPerClient = 2;
/** Sessions that begin have both already, and who is refused hears why. */
const beginning = 64;
const leaving = 64;
/** With fewer, a crowd of strangers keeps clients from logging in. */
const strangersMin = 128;
const clientsMin = 16;

/** Null: it is not told, or there is none. */
export function openFilesMax(): number | null {
  return processLimit('open_files');
}

/** As many clients as are wanted, and then as many strangers as there is room for, at most `wanted`. @throws CliError if there is room for next to none */
export function boundsThatFit(
  wanted: FittedBounds,
  filesMax: number | null,
  hasThrift: boolean,
): FittedBounds {
  if (filesMax === null) return wanted;
  const besides = ownFiles + otherDoors + (hasThrift ? thriftDoor : 0) + beginning + leaving;
  const least = besides + strangersMin + clientsMin * filesPerClient;
  if (filesMax < least)
    throw new CliError(
      `This process may have ${filesMax} files open, and a replica needs ${least}. Allow more: "ulimit -n 4096", or LimitNOFILE= in its systemd unit.`,
    );
  const room = filesMax - besides;
  const clientsMax = Math.min(wanted.clientsMax, Math.floor((room - strangersMin) / filesPerClient));
  const strangers = wanted.openingMax + wanted.provingMax;
  const share = Math.min(1, (room - clientsMax * filesPerClient) / strangers);
  return {
    clientsMax,
    openingMax: Math.floor(wanted.openingMax * share),
    provingMax: Math.floor(wanted.provingMax * share),
  };
}
