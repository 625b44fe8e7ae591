import type { VNode } from 'preact';
import type { StoredDocument } from './lib/documents.ts';
import { toneOf } from './lib/documents.ts';
import { duration } from './lib/time.ts';
import { moments, type Step, steps } from './lib/timeline.ts';
import { Time } from './words.tsx';

export function TimelineView({ object }: { readonly object: StoredDocument }): VNode {
  const begun = steps(object);
  return (
    <section aria-label="Timeline">
      <h3>Timeline</h3>
      <ol class="timeline">
        {moments(object).map(({ at, what, tone }) => (
          <li data-tone={tone}>
            {what} <Time at={at} />
          </li>
        ))}
      </ol>
      {begun.length === 0 ? null : <Steps steps={begun} />}
    </section>
  );
}

const WIDTH = 300;

function Steps({ steps: shown }: { readonly steps: readonly Step[] }): VNode {
  const now = Date.now();
  const end = (step: Step): number => (step.end === undefined ? now : Date.parse(step.end));
  const from = Math.min(...shown.map(({ start }) => Date.parse(start)));
  const whole = Math.max(1, Math.max(...shown.map(end)) - from);
  return (
    <table class="steps">
      <caption>Steps</caption>
      <tbody>
        {shown.map((step) => {
          const start = Date.parse(step.start);
          const took = end(step) - start;
          return (
            <tr>
              <th scope="row">{step.name}</th>
              <td class="bars">
                <svg viewBox={`0 0 ${WIDTH} 10`} preserveAspectRatio="none" aria-hidden="true">
                  <rect
                    data-tone={toneOf(step.end === undefined ? '_RUNNING' : step.state)}
                    x={((start - from) / whole) * WIDTH}
                    width={Math.max(3, (took / whole) * WIDTH)}
                    height="10"
                    rx="2"
                  />
                </svg>
              </td>
              <td class="number">{step.end === undefined ? 'runs' : duration(took / 1000)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
