// A list is of a moment, and a watch goes on from one. To clients it is a resourceVersion, a number that only grows: here the
// microseconds since 1970. Those of objects, which etcd has given, are far smaller.
const LEAST_DIGITS = 16;

/** Microseconds since 1970. */
export type Moment = number;

export function momentOf(time: Date): Moment {
  return time.getTime() * 1000;
}

export function timeOf(moment: Moment): string {
  return new Date(Math.floor(moment / 1000)).toISOString();
}

/** Of an RFC 3339 time with microseconds. */
export function momentAt(time: string): Moment {
  return (
    Date.parse(`${time.slice(0, 19)}Z`) * 1000 + Number(time.slice(20).replace('Z', '').padEnd(6, '0').slice(0, 6))
  );
}

/** Undefined where the resourceVersion is that of an object. */
export function readMoment(resourceVersion: string): Moment | undefined {
  return resourceVersion.length >= LEAST_DIGITS ? Number(resourceVersion) : undefined;
}
