// What a page of the docs prints to be copied.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Block {
  /** Heading above it, without its number signs. */
  readonly section: string;
  readonly language: string;
  readonly text: string;
}

const pages = join(import.meta.dirname, '../../docs');

/** Every fenced block of the page, in its order. */
export function blocksOf(page: string): readonly Block[] {
  const text = readFileSync(join(pages, page), 'utf8');
  let section = '';
  return [...text.matchAll(/^#+ ([^\n]+)$|^```(\w+)\n(.*?)^```$/gms)].flatMap(([, heading, language, body = '']) => {
    section = heading ?? section;
    return language === undefined ? [] : [{ section, language, text: body }];
  });
}

/** The blocks of one section, which has some. */
export function blocksIn(page: string, section: string): readonly Block[] {
  const blocks = blocksOf(page).filter((block) => block.section === section);
  assert.ok(blocks.length > 0, `${page} has no block in "${section}"`);
  return blocks;
}

/** The first commands of a section. */
export function commandsOf(page: string, section: string): string {
  const block = blocksIn(page, section).find(({ language }) => language === 'sh');
  assert.ok(block !== undefined, `${page} has no commands in "${section}"`);
  return block.text;
}
