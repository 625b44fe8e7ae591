// Foreign text made safe for a terminal, which obeys control characters wherever they come from: an annotation could
// clear the screen, hide lines or answer for the user.

/** Control characters of every kind, and what changes the direction in which text is read. Line feed and tab are apart. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
const obeyed = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069\uFEFF]/g;
const breaks: Readonly<Record<string, string>> = { '\n': '\\n', '\t': '\\t' };

/** Every character that a terminal would obey is shown by its code instead; lines stay lines. */
export function terminalText(text: string): string {
  return text.replace(obeyed, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The same, on one line. */
export function terminalLine(text: string): string {
  return terminalText(text).replace(/[\n\t]/g, (character) => breaks[character] ?? '');
}
