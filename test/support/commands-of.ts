import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The commands of a section of a page of the docs. */
export function commandsOf(page: string, section: string): string {
  const text = readFileSync(join(import.meta.dirname, '../../docs', page), 'utf8');
  const [, body = ''] = text.split(new RegExp(`^#+ ${section}$`, 'm'));
  const [, commands] = /^```sh\n(.*?)^```/ms.exec(body.split(/^#+ /m)[0] ?? '') ?? [];
  assert.ok(commands !== undefined, `${page} has no commands in "${section}"`);
  return commands;
}
