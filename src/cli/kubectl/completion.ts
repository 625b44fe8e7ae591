// Completion: a shell asks this program what may come next, in the words typed so far. Kinds and flags are known here;
// names and namespaces are requested, and without an answer in time there are none.
//
// kubectl asks a program kubectl_complete-ingester on PATH, which gets the same words; see docs/query.md.
import { Argument, type Command } from 'commander';
import type { KindDefinition } from '../../api/kind.ts';
import { systemClock, within } from '../../base/clock.ts';
import { valueAt } from '../../base/json.ts';
import { findKindName, kindNames } from '../../kinds/kind-names.ts';
import { groupNames } from '../../storage/aggregate.ts';
import { queryFieldNames } from '../../storage/fields.ts';
import { kindOf } from '../kind.ts';
import { printRaw } from '../print.ts';
import { cellText, itemsOf } from './output.ts';
import { type Session, withSession } from './session.ts';

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

/** Longer than this a user does not wait for a name. */
const ANSWER_MS = 2000;
const MOST_NAMES = '200';
/** Where a command finds its objects, if not among what is present. */
const sources: Readonly<Record<string, string>> = {
  diff: 'all',
  restore: 'all',
  label: 'evicted',
  annotate: 'evicted',
};
/** Commands whose first word is a kind. */
const ofKinds = [
  'get',
  'count',
  'describe',
  'diff',
  'incarnations',
  'history',
  'restore',
  'delete',
  'label',
  'annotate',
  'tree',
];

export function addCompletionCommands(program: Command): void {
  program
    .command('completion')
    .description('print the completion of a shell: source <(kubectl ingester completion bash)')
    .addArgument(new Argument('<shell>', 'for which shell').choices(shells))
    .action((shell: Shell) => printRaw(scripts[shell]));
  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .allowUnknownOption()
    .helpOption(false)
    .action(async (words: readonly string[]) => {
      const candidates = await candidatesFor(program, words);
      // Cobra's protocol, which kubectl uses: candidates, then a number that says "no file names".
      printRaw([...candidates, ':4', ''].join('\n'));
    });
}

/** What may stand where the last word is begun. */
export async function candidatesFor(program: Command, words: readonly string[]): Promise<readonly string[]> {
  const current = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const previous = before.at(-1) ?? '';
  const command = program.commands.find(
    (one) => before.includes(one.name()) || one.aliases().some((name) => before.includes(name)),
  );
  const plain = before.filter(
    (word, index) => !word.startsWith('-') && !takesValue(program, command, before[index - 1]),
  );
  const all = await rawCandidates({ program, command, plain, previous, current });
  return all.filter((candidate) => candidate.startsWith(current));
}

interface Typed {
  readonly program: Command;
  readonly command: Command | undefined;
  /** Words that are neither flags nor their values. */
  readonly plain: readonly string[];
  readonly previous: string;
  readonly current: string;
}

async function rawCandidates(typed: Typed): Promise<readonly string[]> {
  const { program, command, previous, current } = typed;
  const flag = flagOf(program, command, previous);
  if (flag?.required === true) return valuesOf(typed, flag);
  if (current.startsWith('-')) return [...new Set(flagsOf(program, command).map(({ long }) => long ?? ''))];
  if (command === undefined) return program.commands.map((one) => one.name()).filter((name) => !name.startsWith('_'));
  return command.name() === 'completion' ? shells : objectsFor(command.name(), typed);
}

/** What a flag may be set to, where that is known. */
async function valuesOf(
  { program, plain, current }: Typed,
  { long, argChoices }: Command['options'][number],
): Promise<readonly string[]> {
  if (argChoices !== undefined) return argChoices;
  const [, kind = ''] = plain;
  switch (long) {
    case '--namespace':
      return asked(program, ({ objects }) => objects.namespaces());
    case '--output':
      return ['table', 'wide', 'json', 'yaml', 'name', 'jsonpath=', 'custom-columns='];
    case '--by':
      return listed(current, await fieldsOf(kind, groupNames));
    case '--order-by':
      return listed(current, await fieldsOf(kind, queryFieldNames));
    case '--template':
      return asked(program, async ({ objects }) => {
        const queries = await objects.call({ path: `/${kindOf(kind).plural}/-/queries` });
        return itemsOf(queries).map(({ id }) => cellText(id));
      });
    default:
      return [];
  }
}

/** First a kind, then a name. */
async function objectsFor(command: string, { program, plain, current }: Typed): Promise<readonly string[]> {
  if (!ofKinds.includes(command)) return [];
  const plurals = kindNames.map(({ plural }) => plural);
  if (plain.length === 1) return command === 'get' ? listed(current, plurals) : plurals;
  const names = { count: 0, diff: 2 }[command] ?? 1;
  return plain.length > 1 && plain.length <= 1 + names
    ? namesOf(program, { kind: plain[1] ?? '', command, current })
    : [];
}

/** Of a list that is joined by commas, the last part is completed. */
function listed(current: string, candidates: readonly string[]): readonly string[] {
  const before = current.slice(0, current.lastIndexOf(',') + 1);
  return candidates.map((candidate) => `${before}${candidate}`);
}

/** The indexed fields of a kind; of none where the word is no kind. */
async function fieldsOf(word: string, names: (kind: KindDefinition) => readonly string[]): Promise<readonly string[]> {
  const { findKind } = await import('../../kinds/kinds.ts');
  const kind = findKind(findKindName(word)?.kind ?? '');
  return kind === undefined ? [] : names(kind);
}

function flagsOf(program: Command, command: Command | undefined): Command['options'] {
  return [...(command?.options ?? []), ...program.options];
}

function flagOf(program: Command, command: Command | undefined, word: string): Command['options'][number] | undefined {
  return flagsOf(program, command).find(({ long, short }) => word !== '' && (long === word || short === word));
}

function takesValue(program: Command, command: Command | undefined, word = ''): boolean {
  return flagOf(program, command, word)?.required === true;
}

interface NamesAsked {
  readonly kind: string;
  readonly command: string;
  /** What the names begin with. */
  readonly current: string;
}

function namesOf(program: Command, { kind, command, current }: NamesAsked): Promise<readonly string[]> {
  return asked(program, async ({ objects, namespace }) => {
    const source = sources[command] ?? 'present';
    const path = `/namespaces/${encodeURIComponent(namespace)}/${kindOf(kind).plural}`;
    const list = await objects.call({
      path,
      query: { limit: MOST_NAMES, source, namePrefix: current, skip: 'spec,status' },
    });
    const names = itemsOf(list).map((item) => cellText(valueAt(item, ['metadata', 'name'])));
    return [...new Set(names)];
  });
}

/** A completion that fails is no completion: an error would stand in the middle of the user's command line. */
function asked(program: Command, ask: (session: Session) => Promise<readonly string[]>): Promise<readonly string[]> {
  const limit = { clock: systemClock, timeoutMs: ANSWER_MS };
  return within(
    limit,
    () => withSession(program, ask).catch(() => []),
    () => [],
  );
}

const scripts: Readonly<Record<Shell, string>> = {
  bash: `# bash completion of kubectl-ingester; "kubectl ingester" is completed through kubectl_complete-ingester.
_kubectl_ingester() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in :*) ;; *) COMPREPLY+=("$line") ;; esac
  done < <(kubectl-ingester __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _kubectl_ingester kubectl-ingester
`,
  zsh: `#compdef kubectl-ingester
# zsh completion of kubectl-ingester; "kubectl ingester" is completed through kubectl_complete-ingester.
_kubectl_ingester() {
  local -a candidates
  candidates=(\${(f)"$(kubectl-ingester __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  compadd -- \${candidates:#:*}
}
compdef _kubectl_ingester kubectl-ingester
`,
  fish: `# fish completion of kubectl-ingester; "kubectl ingester" is completed through kubectl_complete-ingester.
function __kubectl_ingester_complete
    set -l words (commandline -opc)
    kubectl-ingester __complete -- $words[2..-1] (commandline -ct) 2>/dev/null | string match -v ':*'
end
complete -c kubectl-ingester -f -a '(__kubectl_ingester_complete)'
`,
};
