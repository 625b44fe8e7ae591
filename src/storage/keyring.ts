// Sensitive values under AES-256-GCM. The text in the row names its key, so that keys can be changed while rows of both
// are read, and is bound to its place, so that a user cannot read it by moving it to a row that is readable.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { CodedError } from '../base/errors.ts';
import { sha256Hex } from '../base/hash.ts';
import type { JsonValue } from '../base/json.ts';
import { REDACTED, type SealedPlace, type SensitiveValues } from './sensitive.ts';

export class EncryptionKeyMissingError extends CodedError {
  constructor(keyId: string, { kind, uid, path }: SealedPlace) {
    super(
      'ENCRYPTION_KEY_MISSING',
      `${path} of the ${kind} with uid ${uid} is sealed with key ${keyId}, which is not configured. Give the file of ` +
        'that key as encryption.previousKeyFile.',
      { retry: 'yes' },
    );
  }
}

/** The text was changed, or belongs to another object or field. */
export class SealedValueDamagedError extends CodedError {
  constructor({ kind, uid, path }: SealedPlace) {
    super(
      'SEALED_VALUE_DAMAGED',
      `${path} of the ${kind} with uid ${uid} cannot be opened: it was changed, or moved from another row. ` +
        'Restore the row from a backup.',
    );
  }
}

const PREFIX = 'sealed:v1:';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = 'aes-256-gcm';

/** 32 bytes as base64 or hexadecimal text, spaces around it ignored; undefined where it is something else. */
export function parseKey(text: string): Buffer | undefined {
  const trimmed = text.trim();
  if (/^[0-9a-f]{64}$/i.test(trimmed)) return Buffer.from(trimmed, 'hex');
  const key = /^[A-Za-z0-9+/_-]{43}=?$/.test(trimmed) ? Buffer.from(trimmed, 'base64') : undefined;
  return key?.length === KEY_BYTES ? key : undefined;
}

export class Keyring implements SensitiveValues {
  readonly #current: Buffer;
  readonly #keys: ReadonlyMap<string, Buffer>;
  /** Of the key that seals. Says nothing about the key. */
  readonly keyId: string;

  /** `previous` keys open what they sealed and seal nothing. */
  constructor(current: Buffer, previous: readonly Buffer[] = []) {
    this.#current = current;
    this.keyId = idOf(current);
    this.#keys = new Map([current, ...previous].map((key) => [idOf(key), key]));
  }

  seal(value: JsonValue, place: SealedPlace): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#current, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(boundTo(place));
    const body = Buffer.concat([cipher.update(JSON.stringify(value)), cipher.final()]);
    const sealed = Buffer.concat([nonce, body, cipher.getAuthTag()]);
    return `${PREFIX}${this.keyId}:${sealed.toString('base64url')}`;
  }

  open(text: string, place: SealedPlace): JsonValue {
    if (!text.startsWith(PREFIX)) return text;
    const [keyId = '', body = ''] = text.slice(PREFIX.length).split(':');
    const key = this.#keys.get(keyId);
    if (key === undefined) throw new EncryptionKeyMissingError(keyId, place);
    const sealed = Buffer.from(body, 'base64url');
    try {
      const nonce = sealed.subarray(0, NONCE_BYTES);
      const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(boundTo(place));
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
      const clear = Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
      return JSON.parse(clear.toString()) as JsonValue;
    } catch {
      // The reason could tell something about the value.
      throw new SealedValueDamagedError(place);
    }
  }

  outdated(value: JsonValue): boolean {
    return value !== REDACTED && !(typeof value === 'string' && value.startsWith(`${PREFIX}${this.keyId}:`));
  }
}

function idOf(key: Buffer): string {
  return sha256Hex(Buffer.concat([Buffer.from('ingester key id:'), key])).slice(0, 12);
}

function boundTo({ kind, uid, path }: SealedPlace): Buffer {
  return Buffer.from(JSON.stringify([kind, uid, path]));
}
