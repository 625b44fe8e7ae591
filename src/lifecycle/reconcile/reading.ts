// Fields of objects whose form the API server guarantees, but not the compiler.
import type { KubernetesObject } from '../../api/object.ts';
import { valueAt } from '../../base/json.ts';

export function numberAt(object: unknown, ...path: readonly string[]): number {
  const value = valueAt(object, path);
  return typeof value === 'number' ? value : 0;
}

export function textAt(object: unknown, ...path: readonly string[]): string | undefined {
  const value = valueAt(object, path);
  return typeof value === 'string' ? value : undefined;
}

export function listAt(object: unknown, ...path: readonly string[]): readonly unknown[] {
  const value = valueAt(object, path);
  return Array.isArray(value) ? value : [];
}

export function hasEnded(pod: KubernetesObject): boolean {
  return ['Succeeded', 'Failed'].includes(textAt(pod, 'status', 'phase') ?? '');
}
