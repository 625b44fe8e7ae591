// Restore and delete. What would happen is asked first, with the user's own rights; only then the button works.
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { objectPath } from './lib/address.ts';
import type { Api, ApiError } from './lib/api.ts';
import { type Metadata, stateOf } from './lib/documents.ts';
import { refusalLines } from './lib/refusal.ts';

export type Action = 'restore' | 'delete';

interface Props {
  readonly api: Api;
  readonly plural: string;
  readonly metadata: Metadata;
  /** After it was done. */
  readonly done: (action: Action) => void;
}

export function Actions({ api, plural, metadata, done }: Props): VNode {
  const [action, choose] = useState<Action | undefined>(undefined);
  const state = stateOf(metadata);
  return (
    <div class="actions">
      {state === 'live' ? null : (
        <button type="button" onClick={() => choose('restore')}>
          Restore …
        </button>
      )}
      {state === 'deleted' ? null : (
        <button type="button" onClick={() => choose('delete')}>
          Delete …
        </button>
      )}
      {action === undefined ? null : (
        <Preview {...{ api, plural, metadata, done, action }} close={() => choose(undefined)} />
      )}
    </div>
  );
}

interface Outcome {
  readonly outcome?: string;
  readonly message?: string;
  readonly missing?: readonly string[];
  readonly dropped?: readonly string[];
}

interface PreviewProps extends Props {
  readonly action: Action;
  readonly close: () => void;
}

async function ask(
  { api, plural, metadata, action }: PreviewProps,
  mode: 'preview' | 'do',
): Promise<readonly string[]> {
  const path = objectPath(plural, metadata);
  const dry = mode === 'preview' ? 'dryRun=All' : '';
  const asked =
    action === 'restore'
      ? await api<Outcome>(`${path}/restore?uid=${encodeURIComponent(metadata.uid)}&${dry}`, { method: 'POST' })
      : await api<Outcome>(`${path}?${dry}`, { method: 'DELETE', uid: metadata.uid });
  const { outcome, message, missing = [], dropped = [] } = asked.document;
  return [
    ...(mode === 'preview' ? ['A preview: nothing has changed yet.'] : []),
    message ?? `The object ${outcome === 'restored' ? 'is restored' : outcome}.`,
    ...(missing.length === 0 ? [] : [`MySQL never had, set by hand: ${missing.join(', ')}`]),
    ...(dropped.length === 0 ? [] : [`Not put back: ${dropped.join(', ')}`]),
  ];
}

interface Step {
  readonly is: 'asking' | 'may' | 'refused' | 'done';
  readonly lines: readonly string[];
}

function Preview(props: PreviewProps): VNode {
  const { action, metadata, close, done } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [step, set] = useState<Step>({ is: 'asking', lines: ['Asking what would happen …'] });
  const refused = (error: unknown): void => set({ is: 'refused', lines: refusalLines(error as ApiError, props) });
  useEffect(() => {
    dialog.current?.showModal();
    ask(props, 'preview').then((lines) => set({ is: 'may', lines }), refused);
  }, []);
  const go = (): void => {
    set({ is: 'asking', lines: ['At work …'] });
    ask(props, 'do').then((lines) => set({ is: 'done', lines }), refused);
  };
  const end = (): void => (step.is === 'done' ? done(action) : close());
  const title = `${action === 'restore' ? 'Restore' : 'Delete'} ${metadata.namespace}/${metadata.name}`;
  return (
    <dialog ref={dialog} onClose={end} aria-label={title}>
      <h3>{title}</h3>
      <div aria-live="polite">
        {step.lines.map((line) => (
          <p class={step.is === 'refused' ? 'problem' : undefined}>{line}</p>
        ))}
      </div>
      <form method="dialog" class="actions">
        {step.is === 'done' || step.is === 'refused' ? null : (
          <button type="button" class="main" disabled={step.is !== 'may'} onClick={go}>
            {action === 'restore' ? 'Restore' : 'Delete'}
          </button>
        )}
        <button>Close</button>
      </form>
    </dialog>
  );
}
