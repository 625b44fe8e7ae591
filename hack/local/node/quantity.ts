// Kubernetes quantities, as far as resourceFieldRef needs them: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
const factors: Readonly<Record<string, number>> = {
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

/** Undefined where the text is not a quantity. */
export function parseQuantity(value: string | number): number | undefined {
  const [, amount, suffix = ''] = /^(\d+(?:\.\d+)?)([a-zA-Z]*)$/.exec(String(value)) ?? [];
  const factor = factors[suffix];
  return amount === undefined || factor === undefined ? undefined : Number(amount) * factor;
}

/** In units of the divisor, rounded up as the kubelet does. */
export function inUnits(value: string | number, divisor = '1'): string | undefined {
  const [amount, unit] = [parseQuantity(value), parseQuantity(divisor === '0' ? '1' : divisor)];
  if (amount === undefined || unit === undefined || unit === 0) return undefined;
  // Decimal fractions are not exact in binary: 0.1 / 0.001 must not become 101.
  return String(Math.ceil(Number((amount / unit).toFixed(6))));
}
