const PATTERNS: readonly (readonly [RegExp, string])[] = [
  // mysql://user:password@host
  [/(\/\/[^\s/:@]*:)[^\s/@]+@/g, '$1***@'],
  // password=abc, "token": "abc", api-key: abc, Authorization: Bearer abc; up to what separates it from the next
  [
    /((?:password|passwd|pwd|secret|token|api[-_]?key|access[-_]?key|credentials?|authorization)["']?\s*[:=])(?:"[^"]*"|'[^']*'|[^,;&\n])+/gi,
    '$1 ***',
  ],
  // JSON web tokens, and whatever else bears a right
  [/\bbearer\s+[\w.~+/=-]{8,}/gi, 'bearer ***'],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, '***'],
];

/**
 * Redacts what looks like a secret. For text that leaves the process and was made of what others wrote, such as an
 * error message. Apply it before cutting the text: half a secret is not recognised any more. Twice does no more than once.
 */
export function redact(text: string): string {
  return PATTERNS.reduce((redacted, [pattern, replacement]) => redacted.replace(pattern, replacement), text);
}
