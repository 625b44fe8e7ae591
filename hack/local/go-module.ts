import { CodedError } from '../../src/base/errors.ts';
import { runCommand } from './run-command.ts';

/** The folder with the sources of a module that the go.mod in `sources` names: manifests are among them. */
export async function goModuleFolder(module: string, sources: string): Promise<string> {
  const args = ['mod', 'download', '-json', module];
  const { code, stdout, stderr } = await runCommand('go', args, {
    cwd: sources,
    env: { ...process.env, GOWORK: 'off' },
  });
  if (code !== 0) throw new CodedError('LOCAL_BUILD_FAILED', `go ${args.join(' ')}: ${stderr.trim()}`);
  return (JSON.parse(stdout) as { Dir: string }).Dir;
}
