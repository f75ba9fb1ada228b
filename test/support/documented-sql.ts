import { readFileSync } from 'node:fs'

/** The statements of each block of SQL in a section of the guide to PostgreSQL. */
export function documentedSql(title: string): string[][] {
  const page = readFileSync(new URL('../../docs/postgresql.md', import.meta.url), 'utf8')
  const section = new RegExp(`## ${title}\\n([\\s\\S]*?)\\n##`).exec(page)?.[1] ?? ''
  return [...section.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, text = '']) =>
    text.split(/;\n/).filter(statement => statement.trim() !== ''),
  )
}
