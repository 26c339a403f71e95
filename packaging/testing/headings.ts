/** The anchors of a page in Markdown, as GitHub makes them. */
export function anchorsOf(markdown: string): ReadonlySet<string> {
  const outside = markdown.replaceAll(/^```[\s\S]*?^```/gm, '');
  return new Set([...outside.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => anchorOf(heading)));
}

function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}
