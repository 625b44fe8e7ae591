// Small parts of every view.
import type { VNode } from 'preact';
import { enumWord, places, type State, toneOf } from './lib/documents.ts';
import { ago, moment } from './lib/time.ts';

export const Place = ({ state }: { readonly state: State }): VNode => (
  <span class="place" data-state={state}>
    {places[state]}
  </span>
);

export const Time = ({ at }: { readonly at: string }): VNode => (
  <time dateTime={at} title={`${moment(at)} UTC`}>
    {ago(at, Date.now())}
  </time>
);

/** The name of a state or type as a word; everything else as it is. */
export function Value({ text }: { readonly text: string }): VNode {
  const word = enumWord(text);
  if (word === undefined) return <>{text}</>;
  return (
    <span class="word" data-tone={toneOf(text)} title={text}>
      {word}
    </span>
  );
}

export const Problem = ({ text }: { readonly text: string }): VNode => (
  <p class="problem" role="alert">
    {text}
  </p>
);
