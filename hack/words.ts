// Words that this repository does not use: `node hack/words.ts` names each place with the word to use. A sentence names
// who acts, and one thing has one name.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Rule {
  readonly words: readonly string[];
  readonly instead: string;
  readonly folders: readonly string[];
}

const EVERYWHERE = [
  'src',
  'webhooks',
  'hack',
  'schema',
  'config',
  'crds',
  'test',
  'docs',
  'README.md',
  'CONTRIBUTING.md',
];

const rules: readonly Rule[] = [
  {
    words: ['whoever', 'somebody', 'nobody', 'everybody', 'anybody'],
    instead: 'the user, operator, client, caller, replica, controller, process or reader',
    folders: EVERYWHERE,
  },
  { words: ['witness'], instead: 'event, recordEvent', folders: EVERYWHERE },
  { words: ['troubles'], instead: 'failing objects', folders: EVERYWHERE },
  { words: ['farewell'], instead: 'closing response', folders: EVERYWHERE },
  { words: ['departures', 'departed', 'vanished'], instead: 'missed deletes', folders: EVERYWHERE },
];

const EXTENSIONS = '{ts,js,mjs,yaml,yml,json,md,proto,sql}';
/** The list itself; and decision records, which stay as they were written. */
const EXEMPT = /^(hack\/words\.ts|docs\/adr\/.*)$/;
/** Names of files, and the user nobody of Unix. */
const NAMES = /docs\/adr\/[\w.-]+|\buser nobody\b/g;

/** Also as a part of a name: in camel case, or between underscores. */
function patternOf({ words }: Rule): RegExp {
  const either = words.map((word) => {
    const capital = `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
    return `(?<![A-Za-z])${word}(?![a-z])|${capital}(?![a-z])|(?<![A-Z])${word.toUpperCase()}(?![A-Z])`;
  });
  return new RegExp(either.join('|'), 'g');
}

const root = join(import.meta.dirname, '..');
const found: string[] = [];
for (const rule of rules) {
  const pattern = patternOf(rule);
  const patterns = rule.folders.map((name) => (name.includes('.') ? name : `${name}/**/*.${EXTENSIONS}`));
  const files = globSync(patterns, { cwd: root }).filter((file) => !EXEMPT.test(file));
  for (const file of files.sort()) {
    for (const [index, line] of readFileSync(join(root, file), 'utf8').split('\n').entries()) {
      for (const [word] of line.replaceAll(NAMES, '').matchAll(pattern)) {
        found.push(`${file}:${index + 1}: "${word}"; write ${rule.instead}`);
      }
    }
  }
}
if (found.length > 0) {
  process.stderr.write(`${found.join('\n')}\n`);
  process.exitCode = 1;
}
