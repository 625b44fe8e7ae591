// The objects that the storage bench writes: pipeline runs with 8 labels and 4 annotations.
import type { KubernetesObject } from '../../src/api/object.ts';
import type { ObjectRow } from '../../src/storage/row.ts';
import { rowOf } from '../support/objects.ts';

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

/** The row of `benchObject`. */
export function benchRow(uid: string, resourceVersion: number, jsonBytes: number): ObjectRow {
  return rowOf(benchObject(uid, resourceVersion, jsonBytes));
}

/** One state of one object whose json has about this many bytes. */
export function benchObject(uid: string, resourceVersion: number, jsonBytes: number): KubernetesObject {
  const index = Number(uid.split('-').at(-1));
  return {
    apiVersion: 'michelangelo.api/v2',
    kind: 'PipelineRun',
    metadata: {
      name: `run-${uid}`,
      namespace: `project-${index % 20}`,
      uid,
      resourceVersion: String(resourceVersion),
      generation: resourceVersion,
      creationTimestamp: '2026-01-02T03:04:05Z',
      finalizers: ['michelangelo/Ingester'],
      labels: Object.fromEntries(
        numbers(8).map((key) => [`michelangelo/label-${key}`, `value-${(index * (key + 1)) % 1000}`]),
      ),
      annotations: Object.fromEntries(
        numbers(4).map((key) => [`michelangelo/note-${key}`, `text of note ${index} `.repeat(3)]),
      ),
    },
    spec: {
      pipeline: { namespace: `project-${index % 20}`, name: `pipeline-${index % 500}` },
      revision: { namespace: `project-${index % 20}`, name: `revision-${index % 5000}` },
      actor: { name: `user-${index % 100}` },
      input: { attempt: resourceVersion, text: filler(Math.max(0, jsonBytes - 1550), index) },
    },
    status: { state: 'PIPELINE_RUN_STATE_RUNNING' },
  };
}

/** Text that does not compress to nothing, the same for the same seed. */
function filler(length: number, seed: number): string {
  let state = seed + 1;
  let text = '';
  while (text.length < length) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    text += state.toString(36);
  }
  return text.slice(0, length);
}
