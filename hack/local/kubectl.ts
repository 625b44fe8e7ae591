import { join } from 'node:path';
import { CodedError } from '../../src/base/errors.ts';
import { type CommandResult, runCommand } from './run-command.ts';

export interface KubectlOptions {
  readonly input?: string;
  readonly kubeconfig?: string;
  /** Gives a failure as a result instead of throwing it. */
  readonly allowFailure?: boolean;
}

export type KubectlResult = CommandResult;

interface Kubectl {
  readonly kubectl: string;
  readonly kubeconfig: string;
  readonly directory: string;
}

/**
 * The webhook connects to the API server when a rule asks first. On a busy machine that takes longer than a review may,
 * and the refusal says to try again.
 */
const CONNECTING = 'the API server did not say in time';
export const MAX_TRIES = 5;

export function isConnecting(refusal: string): boolean {
  return refusal.includes(CONNECTING);
}

/** Of a Go program that ends soon: collecting garbage is up to a third of the processor time of a kubectl. */
export const briefProgram = { GOGC: 'off', GOMEMLIMIT: '1GiB' } as const;

export function kubectlRunner(
  instance: Kubectl,
): (args: readonly string[], options?: KubectlOptions) => Promise<KubectlResult> {
  return async (args, { input, kubeconfig = instance.kubeconfig, allowFailure = false } = {}) => {
    // Neither the user's preferences nor a cache in the home directory.
    const env = {
      ...process.env,
      ...briefProgram,
      KUBECONFIG: kubeconfig,
      KUBECACHEDIR: join(instance.directory, 'kubectl-cache'),
      KUBERC: 'off',
    };
    const run = (): Promise<KubectlResult> =>
      runCommand(instance.kubectl, args, { env, ...(input === undefined ? {} : { input }) });
    let result = await run();
    for (let tries = 1; tries < MAX_TRIES && isConnecting(result.stderr); tries += 1) result = await run();
    if (result.code === 0 || allowFailure) return result;
    throw new CodedError('LOCAL_KUBECTL', `kubectl ${args.join(' ')} failed: ${result.stderr.trim()}`);
  };
}
