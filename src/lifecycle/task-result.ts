import { isJsonObject } from '../base/json.ts';

export type Result = Readonly<Record<string, unknown>>;

/** A task's last line is one JSON object. */
export function resultOf(message: string | undefined): Result {
  try {
    const last: unknown = JSON.parse(message?.trim().split('\n').at(-1) ?? '');
    return isJsonObject(last) ? last : {};
  } catch {
    // A command of one's own may print what it likes.
    return {};
  }
}
