// The page that people see in a browser while the query API is away. One file without scripts, fonts or pictures.

export interface MaintenanceText {
  readonly title: string;
  readonly message: string;
}

const STYLE = `
  :root { color-scheme: light dark; font: 1.1rem/1.5 system-ui, sans-serif; }
  body { display: grid; min-height: 100vh; margin: 0; place-items: center; }
  main { max-width: 34rem; padding: 2rem; }
  h1 { margin: 0 0 1rem; font-size: 1.8rem; line-height: 1.2; }
  p { margin: 0 0 1rem; }
  small { opacity: 0.75; }
`;

export function maintenancePage({ title, message }: MaintenanceText, refreshSeconds: number): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="${refreshSeconds}">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(message)}</p>
<p><small>This page looks again every ${refreshSeconds} seconds.</small></p>
</main>
</body>
</html>
`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);
}
