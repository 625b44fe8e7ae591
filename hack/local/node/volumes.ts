// The volumes of one pod, as folders of the machine.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../../src/base/clock.ts';
import { writeAtomically } from './atomic-writer.ts';
import type { NodeTimings } from './configuration.ts';
import type { PodAddresses } from './field-values.ts';
import type { ObjectReader } from './object-reader.ts';
import type { Pod, TokenSource, Volume } from './pod.ts';
import { filesOf, type VolumeInput } from './volume-files.ts';

export interface VolumeContext {
  /** Of the pod. */
  readonly folder: string;
  readonly objects: ObjectReader;
  readonly clock: Clock;
  readonly timings: NodeTimings;
  readonly capacity: Readonly<Record<string, string>>;
  readonly addresses: PodAddresses;
}

interface HeldToken {
  readonly token: string;
  readonly replaceAtMs: number;
}

/** Share of its life after which a token is replaced. */
const usedShare = 0.8;

export class PodVolumes {
  readonly #context: VolumeContext;
  readonly #tokens = new Map<string, HeldToken>();

  constructor(context: VolumeContext) {
    this.#context = context;
  }

  /** Where the volume is on this machine. */
  pathOf(volume: Volume): string {
    return volume.hostPath?.path ?? join(this.#context.folder, 'volumes', volume.name);
  }

  /** Makes every volume and brings its content up to date. Throws for what cannot be had yet. */
  async refresh(pod: Pod): Promise<void> {
    for (const volume of pod.spec.volumes ?? []) {
      const path = this.pathOf(volume);
      if (volume.hostPath === undefined || volume.hostPath.type === 'DirectoryOrCreate') {
        mkdirSync(path, { recursive: true });
      }
      const files = await filesOf(volume, this.#input(pod));
      if (files !== undefined) writeAtomically(path, files);
    }
  }

  #input(pod: Pod): VolumeInput {
    const { objects, addresses, capacity } = this.#context;
    return {
      pod,
      addresses,
      capacity,
      texts: (kind, name) => objects.texts(kind, pod.metadata.namespace, name),
      token: (source) => this.#token(pod, source),
    };
  }

  async #token(pod: Pod, source: TokenSource): Promise<string> {
    const { clock, objects, timings } = this.#context;
    const key = JSON.stringify(source);
    const held = this.#tokens.get(key);
    if (held !== undefined && clock.now().getTime() < held.replaceAtMs) return held.token;
    const now = clock.now().getTime();
    const { token, expires } = await objects.token(pod, source);
    const lifeMs = expires.getTime() - now;
    this.#tokens.set(key, { token, replaceAtMs: now + Math.min(lifeMs * usedShare, timings.tokenAgeMs) });
    return token;
  }
}
