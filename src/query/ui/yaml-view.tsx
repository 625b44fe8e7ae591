import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { toYaml, type YamlLine, yamlLines } from './lib/yaml.ts';

/** Lines that are shown at once; the rest is in what is copied. */
const MAX_LINES = 5000;

/** `json`: the object as it came. */
export function YamlView({ json }: { readonly json: string }): VNode {
  const yaml = useMemo(() => toYaml(json), [json]);
  const lines = useMemo(() => yamlLines(yaml), [yaml]);
  const [folded, fold] = useState<ReadonlySet<number>>(new Set());
  const toggle = (number: number): void => {
    const next = new Set(folded);
    if (!next.delete(number)) next.add(number);
    fold(next);
  };
  return (
    <section aria-label="Object">
      <div class="bar">
        <h3>Object</h3>
        <CopyButton text={yaml} />
      </div>
      <pre class="yaml" tabIndex={0}>
        {shown(lines, folded).map((line) => (
          <Line key={line.number} line={line} folded={folded.has(line.number)} toggle={toggle} />
        ))}
        {lines.length > MAX_LINES ? `… ${lines.length - MAX_LINES} more lines: copy them\n` : ''}
      </pre>
    </section>
  );
}

function shown(lines: readonly YamlLine[], folded: ReadonlySet<number>): readonly YamlLine[] {
  let next = 0;
  return lines.slice(0, MAX_LINES).filter(({ number, until }) => {
    if (number < next) return false;
    next = folded.has(number) ? (until ?? number) : number;
    return true;
  });
}

interface LineProps {
  readonly line: YamlLine;
  readonly folded: boolean;
  readonly toggle: (number: number) => void;
}

function Line({ line: { number, parts, until }, folded, toggle }: LineProps): VNode {
  const name = parts
    .map(([, text]) => text)
    .join('')
    .trim();
  return (
    <div class="line">
      {until === undefined ? (
        <span class="fold" />
      ) : (
        <button
          type="button"
          class="fold"
          aria-expanded={!folded}
          aria-label={`Lines below ${name}`}
          onClick={() => toggle(number)}
        />
      )}
      {parts.map(([token, text]) => (
        <span class={token}>{text}</span>
      ))}
      {folded ? <span class="mark"> …</span> : null}
      {'\n'}
    </div>
  );
}

function CopyButton({ text }: { readonly text: string }): VNode {
  const [said, say] = useState('Copy');
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => say('Copied'),
      () => say('Not permitted'),
    );
  };
  return (
    <button type="button" onClick={copy} aria-live="polite">
      {said}
    </button>
  );
}
