// The order of versions: Semantic Versioning, strictly read, with two rules of its own.
//
// - A suffix is a pre-release only if it says so (alpha, beta, rc, …). Anything else, such as -py310 or -dev, names a
//   variant of the same release, and variants have no order among each other.
// - rc10 comes after rc2: letters and the number behind them are compared apart.
//
// A leading v is allowed. Partial versions, dates and leading zeros have no order here: comparing 2024.06.01 with 4.1
// would be a guess.

export type VersionOrder = 'older' | 'same' | 'newer';

interface Version {
  readonly core: readonly string[];
  /** Empty for a release. */
  readonly preRelease: readonly string[];
}

const SEMVER = /^v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/;
const PRE_RELEASE = /^(?:alpha|beta|a|b|rc|cr|pre|preview|m|milestone|snapshot)(?=$|[.\d])/i;
/** Longer texts are no versions, and are not worth reading. */
const MAX_LENGTH = 256;

/** How `to` stands to `from`; undefined where one of them is no version. */
export function compareVersions(from: string, to: string): VersionOrder | undefined {
  const [left, right] = [parse(from), parse(to)];
  if (left === undefined || right === undefined) return undefined;
  const order = compareLists(left.core, right.core) || comparePreReleases(left.preRelease, right.preRelease);
  if (order === 0) return 'same';
  return order < 0 ? 'newer' : 'older';
}

function parse(text: string): Version | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const match = SEMVER.exec(text);
  if (match === null) return undefined;
  const [, major = '', minor = '', patch = '', suffix = ''] = match;
  const [first = ''] = suffix.split('-');
  const preRelease = PRE_RELEASE.test(first) ? first.toLowerCase().match(/\d+|[a-z]+/g) : [];
  return { core: [major, minor, patch], preRelease: preRelease ?? [] };
}

/** A release comes after its pre-releases. */
function comparePreReleases(left: readonly string[], right: readonly string[]): number {
  if (left.length === 0 || right.length === 0) return Number(left.length === 0) - Number(right.length === 0);
  return compareLists(left, right);
}

function compareLists(left: readonly string[], right: readonly string[]): number {
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const order = compareParts(left[index], right[index]);
    if (order !== 0) return order;
  }
  return 0;
}

/** A missing part comes first, a number before a word. */
function compareParts(left: string | undefined, right: string | undefined): number {
  if (left === undefined || right === undefined) return Number(left !== undefined) - Number(right !== undefined);
  const [leftNumber, rightNumber] = [/^\d/.test(left), /^\d/.test(right)];
  if (leftNumber !== rightNumber) return leftNumber ? -1 : 1;
  return leftNumber ? compareDecimals(left, right) : compareText(left, right);
}

/** Whole numbers of any length, as decimal text. */
export function compareDecimals(left: string, right: string): number {
  const [a, b] = [left.replace(/^0+(?=\d)/, ''), right.replace(/^0+(?=\d)/, '')];
  return a.length === b.length ? compareText(a, b) : a.length - b.length;
}

function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
