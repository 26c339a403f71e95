/** What can be typed to make certificates. */
import type { Command } from 'commander';
import type { CertificatesArguments } from './admin/certificates-command.ts';
import { exitCodesText, path, whole } from './program-options.ts';

export interface CertificateCommands {
  readonly certificates: (args: CertificatesArguments) => Promise<void>;
}

interface Options {
  readonly config: string;
  readonly directory: string;
  readonly days: number;
  readonly renew: boolean;
  readonly only?: string;
}

export function addCertificates(program: Command, commands: CertificateCommands): void {
  program
    .command('certificates')
    .description('make a private authority, and a certificate for each member of a group')
    .requiredOption(
      '--config <file>',
      'the configuration of any member: its "peers" say who they are and where',
      path,
    )
    .requiredOption('--directory <dir>', 'where they are, or go', path)
    .option('--days <n>', 'how long certificates of members are good for', whole(1, 36_500), 400)
    .option('--renew', 'replace those of members that are there', false)
    .option('--only <replica>', 'for this member alone, such as r2')
    .addHelpText(
      'after',
      `
The authority that is in the directory is used; if there is none, one is made, for ten years. Replicas take up new files without a restart.

Examples:
  barista certificates --config r1.yaml --directory certificates
  barista certificates --config r1.yaml --directory certificates --renew --only r2
${exitCodesText}`,
    )
    .action(({ config, directory, days, renew, only }: Options) =>
      commands.certificates({ configFile: config, directory, days, renew, only: only ?? null }),
    );
}
