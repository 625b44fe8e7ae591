// What components share: an answer that belongs to what is asked for now, and the address.
import { useEffect, useState } from 'preact/hooks';
import { type Address, parseAddress } from './lib/address.ts';
import type { ApiError } from './lib/api.ts';

export interface Loaded<T> {
  /** While a newer one is awaited, the one before. */
  readonly value: T | undefined;
  readonly error: ApiError | undefined;
}

/** Loads anew when the key changes; the answer to an older key is dropped, and its request ended. */
export function useLoaded<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [loaded, set] = useState<Loaded<T>>({ value: undefined, error: undefined });
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    load(signal).then(
      (value) => signal.aborted || set({ value, error: undefined }),
      (error: unknown) => signal.aborted || set({ value: undefined, error: error as ApiError }),
    );
    return () => controller.abort();
  }, [key]);
  return loaded;
}

export function useAddress(): Address {
  const [hash, set] = useState(location.hash);
  useEffect(() => {
    const changed = (): void => set(location.hash);
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  return parseAddress(hash);
}

/** Changes the address without a step for "back", as when one types. */
export function replaceAddress(hash: string): void {
  history.replaceState(null, '', hash);
  dispatchEvent(new HashChangeEvent('hashchange'));
}
