/**
 * `barista certificates`: a private authority for a group, and a certificate for each of its members.
 *
 * Responsible for: which files there are, and that nothing is replaced unasked. What is in a certificate is adapters/tls-files' business.
 * Invariants: a file is there whole or not at all; keys are for their owner's eyes only; the authority that is there is used, and never made again.
 */
import { X509Certificate } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exists, makeDirectories, readFile } from '../../adapters/file-system.ts';
import type { Made } from '../../adapters/tls-files/make-certificates.ts';
import { loadReplicaConfig, type ReplicaConfig } from '../../config/replica-config.ts';
import { CliError, exitCodes } from '../../main/errors.ts';

export interface CertificatesArguments {
  readonly configFile: string;
  readonly directory: string;
  readonly days: number;
  /** Those of members that are there are replaced. */
  readonly renew: boolean;
  /** Null: all members. */
  readonly only: string | null;
}

type Say = (line: string) => void;

const authorityYears = 10;
const dayMs = 24 * 3_600_000;
/** Clocks of other machines may be a little behind. */
const beforeMs = 3_600_000;

/** @throws ConfigError, CliError */
export async function runCertificates(args: CertificatesArguments, say: Say): Promise<void> {
  const config = loadReplicaConfig(args.configFile);
  const members = config.peers.filter(({ id }) => args.only === null || id === args.only);
  if (members.length === 0) {
    const known = config.peers.map(({ id }) => id).join(', ');
    throw new CliError(
      `${args.only ?? ''} is not among the peers of ${args.configFile}: ${known}.`,
      exitCodes.usage,
    );
  }
  await makeDirectories(args.directory);
  const authority = await authorityIn(config, args.directory, say);
  for (const member of members) await certify(authority, member, args, say);
  const [first] = members;
  const place = (name: string): string => join(args.directory, name);
  say(
    `In the configuration of ${first?.id ?? ''}, once its files are on its host:\n` +
      `  peerTls: { certificate: ${place(`${first?.id ?? ''}.crt`)}, key: ${place(`${first?.id ?? ''}.key`)}, authority: ${place('authority.crt')} }\n` +
      `Do not keep ${place('authority.key')} on a replica: with it, anyone can make certificates for any member.`,
  );
}

async function authorityIn({ group }: ReplicaConfig, directory: string, say: Say): Promise<Made> {
  const [certificate, key] = ['authority.crt', 'authority.key'].map((name) => join(directory, name)) as [
    string,
    string,
  ];
  const there = await Promise.all([exists(certificate), exists(key)]);
  if (there[0] && there[1])
    return { certificate: await readFile(certificate, 'utf8'), key: await readFile(key, 'utf8') };
  if (there[0] || there[1]) {
    const [here, missing] = there[0] ? [certificate, key] : [key, certificate];
    throw new CliError(
      `${here} exists, but ${missing} does not: copy it there, or use another directory.`,
      exitCodes.usage,
    );
  }
  const { makeAuthority } = await import('../../adapters/tls-files/make-certificates.ts');
  const made = await makeAuthority(`Barista ${group}`, validity(authorityYears * 365));
  await write(key, made.key, 0o600);
  await write(certificate, made.certificate, 0o644);
  say(`${certificate}: a new authority, until ${endOf(made)}.`);
  return made;
}

async function certify(
  authority: Made,
  { id, host, pgwire }: ReplicaConfig['peers'][number],
  { directory, days, renew }: CertificatesArguments,
  say: Say,
): Promise<void> {
  const [certificate, key] = [join(directory, `${id}.crt`), join(directory, `${id}.key`)];
  if (!renew && (await exists(certificate))) {
    say(`${certificate}: exists and is kept (use --renew to replace it).`);
    return;
  }
  const { makeCertificate } = await import('../../adapters/tls-files/make-certificates.ts');
  const names = [...new Set<string>([id, host, pgwire.host])];
  const wanted = validity(days);
  const last = new Date(new X509Certificate(authority.certificate).validTo);
  const made = await makeCertificate(authority, {
    subject: id,
    names,
    validity: { from: wanted.from, to: wanted.to < last ? wanted.to : last },
  });
  await write(key, made.key, 0o600);
  await write(certificate, made.certificate, 0o644);
  say(`${certificate}: for ${names.join(', ')}, until ${endOf(made)}.`);
}

function validity(days: number): { readonly from: Date; readonly to: Date } {
  const nowMs = Date.now();
  return { from: new Date(nowMs - beforeMs), to: new Date(nowMs + days * dayMs) };
}

const endOf = ({ certificate }: Made): string =>
  new Date(new X509Certificate(certificate).validTo).toISOString().slice(0, 10);

async function write(file: string, text: string, mode: number): Promise<void> {
  await writeFile(`${file}.new`, text, { mode });
  await rename(`${file}.new`, file);
}
