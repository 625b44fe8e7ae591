// Which connection of a server has to go: one that takes too long, or the one that least deserves its place. Pure.

/** How many connections a server has, and how long each may take for what. Milliseconds. */
export interface ConnectionLimits {
  readonly most: number;
  /** Without a request. */
  readonly idleMs: number;
  /** For the head of a request, from its first byte. */
  readonly headMs: number;
  /** For the body, from the end of the head. */
  readonly bodyMs: number;
  /** From the end of the body until the client has the whole answer; missing where the application bounds it. */
  readonly answerMs?: number;
}

/** opening: the TLS handshake, no request yet. leaving: the client was told to close, and gets time to read that. */
export type Phase = 'opening' | 'idle' | 'head' | 'body' | 'answering' | 'leaving';

export interface ConnectionState {
  /** Of the client. */
  readonly address: string;
  readonly phase: Phase;
  /** Since when it is in this phase. */
  readonly sinceMs: number;
}

/** An honest client goes on this soon with what it has begun. */
const SOON_MS = 1000;

/** Whether the connection has used up its time. Node itself ends handshakes that take too long. */
export function isOverdue({ phase, sinceMs }: ConnectionState, limits: ConnectionLimits, nowMs: number): boolean {
  const most = {
    opening: undefined,
    idle: limits.idleMs,
    head: limits.headMs,
    body: limits.bodyMs,
    answering: limits.answerMs,
    leaving: SOON_MS,
  }[phase];
  return most !== undefined && nowMs - sinceMs > most;
}

/**
 * The connection that makes room for another: one that leaves before one that is slow, before one that is idle, whose client can connect anew,
 * before one that has just begun. Among equals that of the address with the most connections, then the oldest.
 * Undefined where all are being answered.
 */
export function leastDeserving<T extends ConnectionState>(connections: Iterable<T>, nowMs: number): T | undefined {
  const all = [...connections];
  const perAddress = new Map<string, number>();
  for (const { address } of all) perAddress.set(address, (perAddress.get(address) ?? 0) + 1);
  const merits = ({ address, phase, sinceMs }: ConnectionState): readonly number[] => [
    meritOf(phase, nowMs - sinceMs),
    -(perAddress.get(address) ?? 0),
    sinceMs,
  ];
  let least: { readonly connection: T; readonly merits: readonly number[] } | undefined;
  for (const connection of all) {
    if (connection.phase === 'answering') continue;
    const own = merits(connection);
    if (least === undefined || isLess(own, least.merits)) least = { connection, merits: own };
  }
  return least?.connection;
}

function meritOf(phase: Phase, ageMs: number): number {
  if (phase === 'leaving') return -1;
  if (phase === 'idle') return 1;
  return ageMs > SOON_MS ? 0 : 2;
}

/** By the first number that differs. */
function isLess(left: readonly number[], right: readonly number[]): boolean {
  const index = left.findIndex((value, at) => value !== right[at]);
  return index >= 0 && (left[index] ?? 0) < (right[index] ?? 0);
}
