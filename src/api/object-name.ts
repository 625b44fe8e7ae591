// Names that the API server accepts, by the rules of apimachinery's validation.

const LABEL = '[a-z0-9](?:[-a-z0-9]*[a-z0-9])?';
const label = new RegExp(`^${LABEL}$`);
const subdomain = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`);
const LONGEST_LABEL = 63;
const LONGEST_SUBDOMAIN = 253;

export function isNamespace(text: string): boolean {
  return text.length <= LONGEST_LABEL && label.test(text);
}

/** Of a custom resource. */
export function isObjectName(text: string): boolean {
  return text.length <= LONGEST_SUBDOMAIN && subdomain.test(text);
}
