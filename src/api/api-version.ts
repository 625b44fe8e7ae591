// The order Kubernetes gives to the versions of an API: v2 before v1 before v2beta1 before v1alpha1.
import type { VersionOrder } from '../base/semver.ts';

const VERSION = /^v([1-9]\d{0,8})(?:(alpha|beta)([1-9]\d{0,8}))?$/;
const stages = ['alpha', 'beta', undefined];

/** How `to` stands to `from`; undefined where one of them is no such version. */
export function compareApiVersions(from: string, to: string): VersionOrder | undefined {
  const [left, right] = [parse(from), parse(to)];
  if (left === undefined || right === undefined) return undefined;
  for (const [index, part] of left.entries()) {
    const order = (right[index] ?? 0) - part;
    if (order !== 0) return order < 0 ? 'older' : 'newer';
  }
  return 'same';
}

function parse(text: string): readonly number[] | undefined {
  const match = VERSION.exec(text);
  if (match === null) return undefined;
  const [, major, stage, minor] = match;
  return [stages.indexOf(stage), Number(major), Number(minor ?? 0)];
}
