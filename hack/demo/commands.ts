// What the reader is told to try. Each line works as it is printed, in any shell and folder: it begins with the path of a
// script that knows the cluster.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '../local/run-command.ts';
import type { DemoCluster } from './demo-cluster.ts';
import { DemoError, type Narrator } from './narrator.ts';
import { EVICTED, NS } from './story.ts';

const sources = join(import.meta.dirname, '../../src');

export interface DemoCommand {
  readonly line: string;
  /** What it prints. */
  readonly shows: RegExp;
}

/** The folder of the scripts. */
export function binOf({ directory }: DemoCluster['access']): string {
  return join(directory, 'bin');
}

export function writeCommands(access: DemoCluster['access']): readonly DemoCommand[] {
  const bin = binOf(access);
  writePrograms(access, bin);
  const kubectl = join(bin, 'kubectl');
  const run = `${EVICTED} -n ${NS}`;
  return [
    { line: `${join(bin, 'ingester')} status`, shows: /^query API +works /m },
    {
      line: `${kubectl} get pipelineruns.stored.michelangelo.api ${run}`,
      shows: new RegExp(`^${EVICTED} .* {2}MySQL `, 'm'),
    },
    { line: `${kubectl} ingester restore pipelinerun ${run}`, shows: new RegExp(`${EVICTED} \\w+ as uid `) },
  ];
}

/** Runs what the reader is told to try, and fails where a command shows nothing. */
export async function runEach(commands: readonly DemoCommand[], narrator: Narrator): Promise<void> {
  narrator.chapter('Three commands show it');
  for (const { line, shows } of commands) {
    narrator.command(line);
    const { code, stdout, stderr } = await runCommand('sh', ['-c', line]);
    narrator.output(stdout + stderr);
    if (code !== 0 || !shows.test(stdout)) throw new DemoError(String(shows), `the exit code was ${code}`);
  }
  narrator.proved('Each of them shows what it is for.');
}

function writePrograms({ directory, kubeconfig, kubectl }: DemoCluster['access'], bin: string): void {
  mkdirSync(bin);
  const settings = { KUBECONFIG: kubeconfig, KUBECACHEDIR: join(directory, 'kubectl-cache'), KUBERC: 'off' };
  const exported = Object.entries(settings).map(([name, value]) => `export ${name}='${value}'`);
  const programs = {
    kubectl: [kubectl],
    ingester: [process.execPath, join(sources, 'main.ts')],
    // kubectl finds it on PATH.
    'kubectl-ingester': [process.execPath, join(sources, 'kubectl-ingester.ts')],
  };
  for (const [name, words] of Object.entries(programs)) {
    const run = `exec ${words.map((word) => `'${word}'`).join(' ')} "$@"`;
    const lines = ['#!/bin/sh', ...exported, `export PATH='${bin}':"$PATH"`, run, ''];
    writeFileSync(join(bin, name), lines.join('\n'), { mode: 0o755 });
  }
}
