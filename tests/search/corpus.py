"""A small store as a team has one, and what its people type to find things in it.

Texts are written so that many words are in several items: a target is found by what it is about, not by a lucky word.
"""

from satchel.model import DocumentDraft, PromptDraft, Scope, TaskDraft
from satchel.services import documents, projects, prompts, tasks
from satchel.storage.database import Database

ANN = "11111111-1111-4111-8111-111111111111"
SCOPE = Scope(user=ANN)

# title, tags, description, content
PROMPTS = (
    (
        "Code review",
        "review,quality",
        "Reviews a diff line by line",
        "You are a careful reviewer. Read the diff. Look for bugs, missing tests and unclear names.\n"
        "List findings by severity.",
    ),
    (
        "Security review",
        "review,security",
        "Looks for vulnerabilities",
        "Check the change for injection, broken access control, secrets in code and unsafe deserialization.",
    ),
    (
        "Commit message",
        "git",
        "A conventional commit from a diff",
        "Write one line in the imperative, at most 72 characters.\nThen a blank line and why the change was made.",
    ),
    (
        "Release notes",
        "git,release",
        "Turns a changelog into notes for users",
        "Group the changes by what users notice. Leave out refactorings and chores.",
    ),
    (
        "Postmortem",
        "incident,sre",
        "Blameless report after an outage",
        "Describe the timeline, the impact on customers, the root cause and the action items.\nBlame nobody.",
    ),
    (
        "Incident update",
        "incident,support",
        "Status page text while something is down",
        "Say what is broken, who is affected, since when, and when the next update comes.",
    ),
    (
        "Explain like I'm five",
        "teaching",
        "Simple words for a hard subject",
        "Explain {{ topic }} to a child. Use a comparison from everyday life.",
    ),
    (
        "Translate to German",
        "language,translation",
        None,
        "Translate the text into German. Keep names, code and markup. Prefer du to Sie.",
    ),
    (
        "Proofread English",
        "language,writing",
        "Mends grammar and spelling",
        "Correct grammar, spelling and punctuation without changing the meaning. Show the corrected text only.",
    ),
    (
        "Summarize meeting",
        "meetings",
        "Minutes from a transcript",
        "Give decisions, open questions and action items with owners. Ten bullet points at most.",
    ),
    (
        "Summarize paper",
        "research",
        "Abstract of a scientific article",
        "State the question, the method, the result and the limits of the study in 150 words.",
    ),
    (
        "Cover letter",
        "career",
        "Application for a job",
        "Write a letter for the position {{ role }} at {{ company }} from my résumé. Honest, warm, one page.",
    ),
    (
        "Mock interview",
        "career",
        "Practise for a job interview",
        "Ask me one question at a time for the position of {{ role }}. After each answer give feedback.",
    ),
    (
        "SQL from question",
        "sql,data",
        "Query for a question in plain words",
        "Given the schema below, write one PostgreSQL query that answers the question. Explain joins.",
    ),
    (
        "Optimize SQL query",
        "sql,performance",
        "Why is it slow",
        "Read the output of explain analyze and suggest indexes or a rewritten query.",
    ),
    (
        "Regex builder",
        "code",
        "Regular expression with tests",
        "Write a regular expression for what I describe, with ten strings that match and ten that do not.",
    ),
    (
        "Unit tests for Python",
        "python,testing",
        "pytest for a function",
        "Write pytest tests for the function: usual cases, borders, errors. Use parametrize.",
    ),
    (
        "TypeScript migration",
        "typescript,code",
        "JavaScript to TypeScript",
        "Convert the file to TypeScript in strict mode. No any. Keep behaviour.",
    ),
    (
        "Dockerfile doctor",
        "docker,ops",
        "Smaller and safer images",
        "Review the Dockerfile: layers, cache, user, secrets, size. Suggest a multi-stage build.",
    ),
    (
        "Kubernetes troubleshooting",
        "kubernetes,ops",
        "Pods that do not start",
        "Ask for kubectl describe and logs. Go through image, probes, resources, permissions, network.",
    ),
    (
        "Terraform module",
        "terraform,ops",
        None,
        "Write a Terraform module with variables, outputs and an example. Pin provider versions.",
    ),
    (
        "API design critique",
        "api,review",
        "REST endpoints under the magnifying glass",
        "Check names, verbs, status codes, pagination, errors and idempotency of the endpoints.",
    ),
    (
        "User story",
        "product",
        "From idea to story with acceptance criteria",
        "As a ... I want ... so that ... Then acceptance criteria in given-when-then form.",
    ),
    (
        "Customer reply",
        "support",
        "Friendly answer to a complaint",
        "Answer politely. Apologize once, say what happens next and when. No jargon.",
    ),
    (
        "Meal plan",
        "home,food",
        "Dinners of a week with a shopping list",
        "Plan seven vegetarian dinners for four people. Add a shopping list by aisle.",
    ),
    (
        "Travel itinerary",
        "home,travel",
        "Days of a trip by the hour",
        "Plan {{ days }} days in {{ city }} by public transport with pauses for children.",
    ),
    (
        "Tweet thread",
        "marketing,writing",
        "Announcement in short posts",
        "Turn the article into eight posts. The first must make one stop scrolling.",
    ),
    (
        "SEO description",
        "marketing,web",
        "Meta description of a page",
        "Write a meta description with at most 155 characters that contains the keyword once.",
    ),
    (
        "Naming things",
        "code",
        "Better names for variables and functions",
        "Suggest five names for each identifier, with reasons. Prefer words of the domain.",
    ),
    (
        "Rubber duck",
        "debugging",
        "Find a bug by explaining",
        "Ask me what I expected, what happened instead, and what changed last. One question at a time.",
    ),
)

# name, MIME type, description, content
DOCUMENTS = (
    (
        "deployment-runbook.md",
        "text/markdown",
        "How we ship to production",
        "# Deploying\n\n## Before\nAnnounce it in #releases. Check the dashboards.\n\n## Steps\n"
        "1. Tag the release.\n2. Run the pipeline `deploy-prod`.\n3. Watch error rates for ten minutes.\n\n"
        "## Rollback\nRun `deploy-prod --rollback` with the previous tag.",
    ),
    (
        "onboarding.md",
        "text/markdown",
        "First week of a new colleague",
        "# Welcome\nGet a laptop, accounts for VPN, mail and the wiki.\n"
        "Pair with your buddy on a small ticket.\nRead the security policy.",
    ),
    (
        "style-guide.md",
        "text/markdown",
        "How we write code and text",
        "Short sentences. Functions are verbs.\nComments give reasons.\nNo abbreviations in names.",
    ),
    (
        "architecture.md",
        "text/markdown",
        "Services and how they talk",
        "The gateway talks to billing, accounts and search by gRPC.\nEvents go through Kafka.\n"
        "Each service owns its PostgreSQL database.",
    ),
    (
        "backup-policy.md",
        "text/markdown",
        "What is saved, how often, where",
        "Nightly dumps are kept for 30 days in another region.\nRestores are tried on the first Monday of each month.",
    ),
    ("oncall-rota.csv", "text/csv", "Who is on call", "week,person\n47,Ann\n48,Bob\n49,Çağla"),
    (
        "retro-2026-10.md",
        "text/markdown",
        "Retrospective of October",
        "Good: fewer alerts at night.\nBad: flaky end-to-end tests cost two days.\nTry: quarantine flaky tests.",
    ),
    (
        "pricing.md",
        "text/markdown",
        "Plans and discounts",
        "Free, Team and Enterprise.\nYearly plans get two months free.\nNon-profits get 40 percent off.",
    ),
    (
        "gdpr-notes.md",
        "text/markdown",
        "Personal data and the law",
        "We keep invoices for ten years.\nErasure requests are answered within 30 days.\n"
        "Data processing agreements are in the legal folder.",
    ),
    (
        "feature_flags.py",
        "text/x-python",
        "Flags in code",
        "def is_enabled(flag_name, user):\n    return rolloutPercentage(flag_name) > bucket(user)\n\n"
        "MAX_RETRY_COUNT = 5\n",
    ),
    (
        "error-codes.md",
        "text/markdown",
        "Codes of the public API",
        "E1001 token expired\nE1002 quota exceeded\nE2001 payment declined\nHTTP 429 means slow down.",
    ),
    (
        "meeting-notes-2026-11-03.md",
        "text/markdown",
        "Weekly of the platform team",
        "Decided: move the cache to Redis 8.\nOpen: who owns the load balancer?\nBob looks into certificate renewal.",
    ),
    (
        "cafe-list.md",
        "text/markdown",
        "Where to eat near the office",
        "Café Señor: best empanadas.\nNoodle bar: long queue at noon.",
    ),
    (
        "brand-voice.md",
        "text/markdown",
        "How we sound",
        "Friendly, plain, never cute. We say you and we. No exclamation marks.",
    ),
    (
        "hiring-rubric.md",
        "text/markdown",
        "How we judge candidates",
        "Scale of 1 to 4 for problem solving, communication, craft and ownership.\nWrite evidence, not impressions.",
    ),
)

# title, tags, description, project
TASKS = (
    ("Renew TLS certificates", "ops", "They expire on 12 December. Use the ACME client on the load balancer.", None),
    ("Fix flaky login test", "testing", "test_login_redirect fails one time in ten since the new cookie banner.", None),
    ("Write documentation for webhooks", "docs", "Signatures, retries, examples in curl and Python.", None),
    (
        "Upgrade PostgreSQL to 18",
        "ops,database",
        "Read the release notes, try pg_upgrade on a copy, plan a window.",
        None,
    ),
    ("Book flights to Lisbon", "travel", "Two adults, one child, aisle seats, back before Sunday.", None),
    ("Prepare quarterly budget", "finance", "Ask each team lead for their numbers.", None),
    ("Rotate API keys", "security", "Stripe, SendGrid and the maps provider.", None),
    ("Clean up feature flags", "code", "Remove those that are at 100 percent for more than a month.", None),
    ("Interview candidate for backend role", "hiring", "Use the rubric. Ask about idempotency.", None),
    ("Dark mode for settings page", "frontend", "Contrast at least 4.5. Follow the system preference.", None),
    ("Reduce memory of the search service", "performance", "The heap grows to 3 GB after a day. Take a profile.", None),
    ("Order birthday cake", "home", "Chocolate, for twelve, on Saturday.", None),
    ("Migrate cron jobs to the scheduler", "ops", "nightly-report, cleanup_sessions, syncUsers", None),
    ("Reply to the auditor", "compliance", "She asks for access logs and the list of subprocessors.", None),
    ("Delete old S3 buckets", "ops,cost", "Everything that nobody read for a year.", None),
)

# What somebody types, and what they look for: the title of a prompt or task, or the name of a document.
PAIRS = (
    ("code review", "Code review"),
    ("reviewing a diff for bugs", "Code review"),
    ("code reveiw", "Code review"),
    ("vulnerabilities in my change", "Security review"),
    ("secuirty review", "Security review"),
    ("commit mesage", "Commit message"),
    ("message for git commit", "Commit message"),
    ("changelog for users", "Release notes"),
    ("post mortem", "Postmortem"),
    ("post-mortem", "Postmortem"),
    ("postmortem", "Postmortem"),
    ("report after outage", "Postmortem"),
    ("blameless", "Postmortem"),
    ("status page", "Incident update"),
    ("explain like im five", "Explain like I'm five"),
    ("explain to a child", "Explain like I'm five"),
    ("german translation", "Translate to German"),
    ("translate german", "Translate to German"),
    ("correct my grammar and speling", "Proofread English"),
    ("proof read", "Proofread English"),
    ("minutes from transcript", "Summarize meeting"),
    ("meeting summary", "Summarize meeting"),
    ("abstract of scientific article", "Summarize paper"),
    ("job application letter", "Cover letter"),
    ("resume letter", "Cover letter"),
    ("practice job interview", "Mock interview"),
    ("slow query", "Optimize SQL query"),
    ("sql from plain words", "SQL from question"),
    ("regular expresion", "Regex builder"),
    ("regex", "Regex builder"),
    ("pytest", "Unit tests for Python"),
    ("python unit test", "Unit tests for Python"),
    ("convert javascript to typescript", "TypeScript migration"),
    ("docker image too big size", "Dockerfile doctor"),
    ("kubernets pod not starting", "Kubernetes troubleshooting"),
    ("teraform", "Terraform module"),
    ("rest api pagination errors", "API design critique"),
    ("acceptance criteria", "User story"),
    ("answer angry complaint customer", "Customer reply"),
    ("dinner shopping list", "Meal plan"),
    ("meals of the week", "Meal plan"),
    ("trip with children plan", "Travel itinerary"),
    ("meta description keyword", "SEO description"),
    ("names for variables", "Naming things"),
    ("how do we deploy to production", "deployment-runbook.md"),
    ("deploy", "deployment-runbook.md"),
    ("rollback", "deployment-runbook.md"),
    ("run book", "deployment-runbook.md"),
    ("new colleague first week vpn", "onboarding.md"),
    ("kafka events", "architecture.md"),
    ("how long do we keep dumps", "backup-policy.md"),
    ("on call", "oncall-rota.csv"),
    ("cagla", "oncall-rota.csv"),
    ("flaky tests retrospective", "retro-2026-10.md"),
    ("discount for non profits", "pricing.md"),
    ("erasure request personal data", "gdpr-notes.md"),
    ("rollout percentage", "feature_flags.py"),
    ("max_retry_count", "feature_flags.py"),
    ("retry count", "feature_flags.py"),
    ("flag_name", "feature_flags.py"),
    ("E1002", "error-codes.md"),
    ("quota exceeded error", "error-codes.md"),
    ("redis cache decision", "meeting-notes-2026-11-03.md"),
    ("cafe senor", "cafe-list.md"),
    ("where to eat", "cafe-list.md"),
    ("tone of voice brand", "brand-voice.md"),
    ("candidate scale rubric", "hiring-rubric.md"),
    ("certificate expire", "Renew TLS certificates"),
    ("tls certs", "Renew TLS certificates"),
    ("login test flaky", "Fix flaky login test"),
    ("docs webhooks", "Write documentation for webhooks"),
    ("web hook signature", "Write documentation for webhooks"),
    ("postgres upgrade", "Upgrade PostgreSQL to 18"),
    ("lisbon flight", "Book flights to Lisbon"),
    ("budgt quarter", "Prepare quarterly budget"),
    ("stripe key rotation", "Rotate API keys"),
    ("remove feature flags", "Clean up feature flags"),
    ("darkmode", "Dark mode for settings page"),
    ("heap grows memory profile", "Reduce memory of the search service"),
    ("birthday", "Order birthday cake"),
    ("sync users cron", "Migrate cron jobs to the scheduler"),
    ("cleanup sessions", "Migrate cron jobs to the scheduler"),
    ("auditor access logs", "Reply to the auditor"),
    ("s3 bucket", "Delete old S3 buckets"),
)


def fill(database: Database, scope: Scope = SCOPE) -> None:
    """Put the corpus into a store."""
    projects.require(database, scope)
    with database.write(scope) as tx:
        for title, tags, description, content in PROMPTS:
            prompts.add(
                tx,
                scope,
                PromptDraft(title=title, tags=tags.split(","), description=description, content=content),
            )
        for name, mime_type, description, content in DOCUMENTS:
            draft = DocumentDraft(
                name=name, uri=f"x:{name}", mime_type=mime_type, description=description, content=content
            )
            documents.add(tx, scope, draft)
        for title, tags, description, project in TASKS:
            tasks.add(tx, scope, TaskDraft(title=title, tags=tags.split(","), description=description, project=project))
