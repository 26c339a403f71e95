/**
 * Who may log in from where, and how it has to prove who it is: the rules of the configuration, of which the first that matches counts, as in PostgreSQL's pg_hba.conf.
 *
 * Pure but for the system's own reading of addresses. Asks nobody and proves nothing.
 */
import { BlockList, isIPv6 } from 'node:net';

/** `scram`: by password; `certificate`: by a certificate of the client whose common name is the role; `trust`: not at all. */
export type AccessMethod = 'scram' | 'certificate' | 'trust' | 'reject';

/** As it is written. Lists are separated by commas. */
export interface AccessRuleText {
  /** Names, or `all`. */
  readonly database: string;
  readonly role: string;
  /** Addresses and networks (`10.0.0.0/8`), `loopback`, or `all`. */
  readonly address: string;
  /** Whether it is for encrypted connections, for those that are not, or for all. */
  readonly tls: 'required' | 'any' | 'none';
  readonly method: AccessMethod;
}

/** What is asked for, and over what. */
export interface AccessQuestion {
  readonly database: string;
  readonly role: string;
  /** Empty: it is not known, and matches only `all`. */
  readonly address: string;
  readonly isEncrypted: boolean;
}

export interface AccessRules {
  /** Null: there is no rule for it. */
  methodFor(question: AccessQuestion): AccessMethod | null;
}

const all = 'all';
const loopback = '127.0.0.0/8, ::1';
const anything: AccessRuleText = { database: all, role: all, address: all, tls: 'any', method: 'scram' };

/** Where none are given: everybody proves a password, and from other machines over TLS if there is TLS. */
export function defaultAccess(hasTls: boolean): readonly AccessRuleText[] {
  return [
    { ...anything, address: 'loopback' },
    { ...anything, tls: hasTls ? 'required' : 'any' },
  ];
}

/** @throws Error if an address is none */
export function compileAccess(texts: readonly AccessRuleText[]): AccessRules {
  const rules = texts.map(({ database, role, address, tls, method }) => ({
    method,
    database: names(database),
    role: names(role),
    address: addresses(address),
    tls,
  }));
  return {
    methodFor({ database, role, address, isEncrypted }) {
      const found = rules.find(
        (rule) =>
          (rule.tls === 'any' || (rule.tls === 'required') === isEncrypted) &&
          rule.database(database) &&
          rule.role(role) &&
          rule.address(address),
      );
      return found?.method ?? null;
    },
  };
}

type Matcher = (text: string) => boolean;

function listOf(text: string): readonly string[] {
  return text.split(',').map((each) => each.trim());
}

function names(text: string): Matcher {
  const list = listOf(text);
  return list.includes(all) ? () => true : (name) => list.includes(name);
}

function addresses(text: string): Matcher {
  const list = listOf(text).flatMap((each) => (each === 'loopback' ? listOf(loopback) : [each]));
  if (list.includes(all)) return () => true;
  const networks = new BlockList();
  /** Those that hold IPv4 addresses as well would match these, too: `::/0` does, for instance. */
  const onlyIpv6 = new BlockList();
  for (const each of list) addNetwork(isWide(each) ? onlyIpv6 : networks, each);
  return (address) => {
    if (address === '') return false;
    if (!isIPv6(address)) return networks.check(address, 'ipv4');
    return networks.check(address, 'ipv6') || onlyIpv6.check(address, 'ipv6');
  };
}

/** IPv4 addresses are written in IPv6 with 96 bits before them. */
function isWide(network: string): boolean {
  const [address = '', prefix = '128'] = network.split('/');
  return isIPv6(address) && Number(prefix) < 96;
}

function addNetwork(networks: BlockList, text: string): void {
  const [address = '', prefix] = text.split('/');
  const family = isIPv6(address) ? 'ipv6' : 'ipv4';
  if (prefix === undefined) networks.addAddress(address, family);
  else networks.addSubnet(address, Number(prefix), family);
}
