import { runCommand } from '../../hack/local/run-command.ts';
import { CodedError } from '../../src/base/errors.ts';

/** What "ingester render" makes of manifests, run by a user who may read the cluster and MySQL. */
export async function renderMarks(
  settings: Readonly<Record<string, string>>,
  input: string,
  ...args: readonly string[]
): Promise<string> {
  const env = { ...process.env, ...settings };
  const { code, stdout, stderr } = await runCommand(process.execPath, ['src/main.ts', 'render', ...args], {
    env,
    input,
  });
  if (code !== 0) throw new CodedError('TEST_RENDER', stderr);
  return stdout;
}
