import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

/** Whether a process runs; one that has ended and whose parent has not asked about it yet does not. */
export function isRunning(pid: number): boolean {
  const file = `/proc/${pid}/stat`;
  if (!existsSync(file)) return false;
  const state = readFileSync(file, 'utf8').split(') ').at(-1)?.[0];
  return state !== 'Z' && state !== 'X';
}

/** The processes whose command line names the directory. */
export function processesOf(directory: string): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => commandLineOf(pid).includes(directory));
}

function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

/** A folder that is removed after the tests of this file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'test-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Runs a module's text in another process, and kills that process once it has written its first line. */
export async function killAfterFirstLine(moduleText: string): Promise<string> {
  const args = ['--input-type=module-typescript', '--eval', moduleText];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  let line = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    line += text;
    if (line.includes('\n')) child.kill('SIGKILL');
  });
  await exited;
  return line.trim();
}
