// The titles of the tests in a file, read from its text: a list of tests can be held to it without running them.

export interface TestTitle {
  /** As the source has it, with `${…}` where it is made in a loop. */
  readonly title: string;
  /** Always, by itself or by what surrounds it; not where it depends on the machine. */
  readonly skipped: boolean;
}

interface Call {
  readonly indent: number;
  readonly isGroup: boolean;
  readonly skipped: boolean;
  readonly title: string;
}

const CALL =
  /^( *)(describe|it|test)((?:\.\w+)*)\(\s*('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)(?=([^=;]*))/gm;
/** Between the title and the function, where the options are; those that are no expression. */
const ALWAYS = /\b(?:skip|todo):\s*(?:true\b|['"])/;

export function titlesIn(source: string): readonly TestTitle[] {
  const around: Call[] = [];
  const titles: TestTitle[] = [];
  for (const call of callsIn(source)) {
    while ((around.at(-1)?.indent ?? -1) >= call.indent) around.pop();
    const skipped = call.skipped || around.some((group) => group.skipped);
    if (call.isGroup) around.push(call);
    else titles.push({ title: call.title, skipped });
  }
  return titles;
}

function callsIn(source: string): readonly Call[] {
  return [...source.matchAll(CALL)].map(([, indent = '', name, modifiers = '', quoted = '', options = '']) => ({
    indent: indent.length,
    isGroup: name === 'describe',
    skipped: /\.(?:skip|todo)\b/.test(modifiers) || ALWAYS.test(options),
    title: quoted.slice(1, -1).replaceAll(/\\(['"`])/g, '$1'),
  }));
}
