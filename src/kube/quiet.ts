// How far a watch is that leaves out what others change. It brings nothing of them, and only the bookmark that comes once a
// minute tells that nothing was missed. A second watch from the same version, asked for a few seconds, has its bookmark at
// once: the API server sends one two seconds before the end of each watch.
import type { Identity } from '../api/object.ts';
import type { KubeClient, Resource, WatchOptions } from './client.ts';

/** The bookmark comes after the first of them, and a second later at most. */
const TIMEOUT_SECONDS = 4;
const SILENCE_MS = 6000;

interface Asked extends Omit<WatchOptions, 'timeoutSeconds' | 'silenceMs'> {
  readonly keeps: (object: Identity) => boolean;
}

/**
 * A version up to which none of the objects that are kept has changed since the given one. Undefined where one has, which is
 * for the first watch to bring, and where the server does not tell.
 */
export async function quietUntil(
  client: Pick<KubeClient, 'newest' | 'watch'>,
  resource: Resource,
  { keeps, ...asked }: Asked,
  signal: AbortSignal,
): Promise<string | undefined> {
  const options = { ...asked, timeoutSeconds: TIMEOUT_SECONDS, silenceMs: SILENCE_MS };
  for await (const events of client.watch(resource, options, signal)) {
    // Its watch cache asks etcd how far it is; a bookmark of the version that it is at already is not sent.
    if (events.length === 0) await client.newest(resource, {}, signal);
    for (const event of events) {
      if (event.type === 'BOOKMARK') return event.resourceVersion;
      if (keeps(event.object.identity)) return undefined;
    }
  }
  return undefined;
}
