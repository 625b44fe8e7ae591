/**
 * Whether one resourceVersion of a resource is certainly newer than another. Kubernetes orders them as decimal integers
 * of any length; of anything else nothing is certain.
 */
export function isNewer(version: string, other: string): boolean {
  if (!isDecimal(version) || !isDecimal(other)) return false;
  return version.length === other.length ? version > other : version.length > other.length;
}

/** Several times for each event, which is why it is no regular expression. */
function isDecimal(version: string): boolean {
  if (version === '' || version.charCodeAt(0) === ZERO) return false;
  for (let index = 0; index < version.length; index += 1) {
    const code = version.charCodeAt(index);
    if (code < ZERO || code > NINE) return false;
  }
  return true;
}

const ZERO = 0x30;
const NINE = 0x39;
