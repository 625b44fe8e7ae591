import { type Command, Option } from 'commander';
import { messageOf } from '../../base/errors.ts';
import { programVersion } from '../../base/program-files.ts';
import { printResult } from '../print.ts';
import { withSession } from './session.ts';

interface Flags {
  readonly client: boolean;
  readonly output: string;
}

export function addVersionCommand(program: Command): void {
  program
    .command('version')
    .description('the version of this program, and of the query API')
    .option('--client', 'this program only', false)
    .addOption(new Option('-o, --output <format>', 'text or json').choices(['text', 'json']).default('text'))
    .action(async ({ client, output }: Flags) => {
      const clientVersion = programVersion();
      const answer = client ? undefined : await withSession(program, ({ objects }) => serverVersion(objects));
      const document = { clientVersion, ...answer };
      printResult(output, document, versionText(document));
    });
}

interface Versions {
  readonly clientVersion: string;
  readonly serverVersion?: string;
  readonly problem?: string;
}

function versionText({ clientVersion, serverVersion: server, problem }: Versions): string {
  const lines = [`Client version: ${clientVersion}`];
  if (server !== undefined) lines.push(`Query API version: ${server}`);
  if (problem !== undefined) lines.push(`Query API version: unknown, ${problem}`);
  return `${lines.join('\n')}\n`;
}

/** That the server cannot be asked is no reason not to say one's own version. */
async function serverVersion(objects: {
  call(call: { readonly path: string }): Promise<object>;
}): Promise<Omit<Versions, 'clientVersion'>> {
  try {
    const { version } = (await objects.call({ path: '/version' })) as { readonly version?: string };
    return { serverVersion: version ?? 'unknown' };
  } catch (error) {
    return { problem: messageOf(error) };
  }
}
