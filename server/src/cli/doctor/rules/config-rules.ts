/** What is wrong with a configuration though each key of it is valid. */
import type { Rule } from '../facts.ts';
import { error, notice, when, warning } from './words.ts';

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || host.startsWith('127.');

/** Nothing else can be looked up then. */
const unreadable: Rule = ({ config, configFile }) =>
  config.ok
    ? []
    : [
        error(
          config.reason,
          `Mend ${configFile}, or name the right file with --config; docs/configuration.md has every key.`,
        ),
      ];

/** Where the others are told to look nobody listens. */
const hiddenFromOthers: Rule = ({ config }) => {
  if (!config.ok) return [];
  const { id, peers, peerListen, pgwire } = config.value;
  const self = peers.find((peer) => peer.id === id);
  if (self === undefined || peers.length < 2) return [];
  const places = [
    { what: 'peerListen', listens: peerListen, told: self, key: `the host of ${id} in peers` },
    { what: 'pgwire', listens: pgwire, told: self.pgwire, key: `the pgwire host of ${id} in peers` },
  ];
  return places.flatMap(({ what, listens, told, key }) =>
    when(isLoopback(listens.host) && !isLoopback(told.host), () =>
      error(
        `${what}.host is ${listens.host}, which only this machine reaches, and ${key} is ${told.host}.`,
        `Have ${what}.host be an address of this machine that the others reach.`,
      ),
    ).concat(
      when(listens.port !== told.port, () =>
        warning(
          `${what}.port is ${listens.port}, and the others are told ${told.port}.`,
          'Give both the same number, unless something passes one port on to the other.',
        ),
      ),
    ),
  );
};

const faultsAllowed: Rule = ({ config }) =>
  when(config.ok && config.value.faults, () =>
    warning(
      '"faults" is on: whoever is on this machine may break the links of this replica.',
      'Take it out of the configuration; it is for tests.',
    ),
  );

const secretsShown: Rule = ({ secretModes }) =>
  secretModes.flatMap(({ path, mode }) =>
    when((mode & 0o077) !== 0, () =>
      warning(
        `${path} holds the secret of the cluster, and others than its owner may read it (mode ${mode.toString(8).padStart(3, '0')}).`,
        `chmod 600 ${path}`,
      ),
    ),
  );

const alone: Rule = ({ config }) =>
  when(config.ok && config.value.peers.length < 3, () =>
    notice(
      'A group of one or two members survives the loss of none.',
      'Have three members, or five: "barista members add".',
    ),
  );

const asRoot: Rule = ({ isRoot }) =>
  when(isRoot, () =>
    notice(
      'This runs as root. If the replica does, too, its PostgreSQL runs as another user, and everything that clients could break out of is worse.',
      'Run replicas as an ordinary user of their own.',
    ),
  );

export const configRules = { unreadable, hiddenFromOthers, faultsAllowed, secretsShown, alone, asRoot };
