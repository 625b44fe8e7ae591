import { readFileSync } from 'node:fs';
import { messageOf } from '../base/errors.ts';
import { ConfigurationError } from '../config/load.ts';
import type { Configuration } from '../config/schema.ts';
import { Keyring, parseKey } from '../storage/keyring.ts';
import { maskedValues, type SensitiveValues } from '../storage/sensitive.ts';

/** Sealed with the configured key, masked without one. */
export function sensitiveValues({ encryption }: Pick<Configuration, 'encryption'>): SensitiveValues {
  return keyring({ encryption }) ?? maskedValues;
}

/** `others` open values that came from elsewhere, and seal nothing. */
export function keyring(
  { encryption }: Pick<Configuration, 'encryption'>,
  others: readonly Buffer[] = [],
): Keyring | undefined {
  const { keyFile, previousKeyFile } = encryption;
  if (keyFile === '') return undefined;
  const [current, ...more] = readKeys('encryption.keyFile', keyFile);
  if (current === undefined || more.length > 0) throw invalid('encryption.keyFile', 'expected exactly one key');
  const previous = previousKeyFile === '' ? [] : readKeys('encryption.previousKeyFile', previousKeyFile);
  return new Keyring(current, [...previous, ...others]);
}

/** One key a line. What the file holds is never shown. */
export function readKeys(path: string, file: string): readonly Buffer[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw invalid(path, `cannot be read: ${messageOf(error)}`);
  }
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line, index) => {
      const key = parseKey(line);
      if (key === undefined) throw invalid(path, `line ${index + 1} is no key of 32 bytes in base64 or hexadecimal`);
      return key;
    });
}

function invalid(path: string, message: string): ConfigurationError {
  return new ConfigurationError('the encryption keys', [{ path, message }]);
}
