package redact

// secretRules are the built-in shapes: those the token makers publish, and what
// stands behind a name that says what it is. A rule names literals; where one
// of them is found (in any letter case), match decides.
var secretRules = [...]secretRule{
	{kind: "aws-access-key", literals: []string{"AKIA", "ASIA"}, match: prefixed, weight: shaped, chars: isUpperDigit, min: 16, max: 16, alone: true},
	{kind: "github-token", literals: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, match: prefixed, weight: shaped, chars: isAlnum, min: 30},
	{kind: "github-token", literals: []string{"github_pat_"}, match: prefixed, weight: shaped, chars: isWord, min: 22},
	{kind: "gitlab-token", literals: []string{"glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-", "glft-", "glimt-", "glagent-"}, match: prefixed, weight: shaped, chars: isWord, min: 20},
	{kind: "anthropic-key", literals: []string{"sk-ant-"}, match: prefixed, weight: shaped, chars: isWord, min: 16},
	{kind: "openai-key", literals: []string{"sk-proj-", "sk-svcacct-", "sk-admin-", "sk-or-"}, match: prefixed, weight: shaped, chars: isWord, min: 20, alone: true, mixed: true},
	{kind: "openai-key", literals: []string{"sk-"}, match: prefixed, weight: shaped, chars: isAlnum, min: 32, alone: true, mixed: true},
	{kind: "slack-token", literals: []string{"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxo-", "xapp-", "xoxe.", "xoxe-", "xoxc-", "xoxd-"}, match: prefixed, weight: shaped, chars: func(c byte) bool { return isWord(c) || c == '.' }, min: 10, alone: true},
	{kind: "slack-webhook", literals: []string{"hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"}, match: prefixed, weight: shaped, chars: isPathChar, min: 20},
	{kind: "discord-webhook", literals: []string{"discord.com/api/webhooks/", "discordapp.com/api/webhooks/"}, match: prefixed, weight: shaped, chars: isPathChar, min: 40},
	{kind: "google-api-key", literals: []string{"AIza"}, match: prefixed, weight: shaped, chars: isWord, min: 35, max: 35, alone: true},
	{kind: "google-oauth", literals: []string{"GOCSPX-", "ya29."}, match: prefixed, weight: shaped, chars: isWord, min: 20, alone: true},
	{kind: "stripe-key", literals: []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"}, match: prefixed, weight: shaped, chars: isTokenChar, min: 16, alone: true, mixed: true},
	{kind: "npm-token", literals: []string{"npm_"}, match: prefixed, weight: shaped, chars: isAlnum, min: 36, max: 36, alone: true},
	{kind: "pypi-token", literals: []string{"pypi-AgEIcHlwaS5vcmc", "pypi-AgENdGVzdC5weXBpLm9yZw"}, match: prefixed, weight: shaped, chars: isWord, min: 30},
	{kind: "huggingface-token", literals: []string{"hf_"}, match: prefixed, weight: shaped, chars: isAlnum, min: 30, max: 50, alone: true},
	{kind: "vault-token", literals: []string{"hvs.", "hvb.", "hvr."}, match: prefixed, weight: shaped, chars: isWord, min: 24, alone: true},
	{kind: "age-key", literals: []string{"AGE-SECRET-KEY-1"}, match: prefixed, weight: shaped, chars: isUpperDigit, min: 50},
	{kind: "sendgrid-key", literals: []string{"SG."}, match: prefixed, weight: shaped, chars: func(c byte) bool { return isWord(c) || c == '.' }, min: 60, max: 70, alone: true},
	{kind: "service-token", literals: []string{
		"dop_v1_", "doo_v1_", "shpat_", "shpss_", "dckr_pat_", "lin_api_", "glsa_", "sbp_", "pscale_pw_", "pscale_tkn_",
		"tskey-", "gsk_", "xai-", "pplx-", "nvapi-", "r8_", "PMAK-", "ATATT3xFf", "ABSK", "fm2_", "sq0csp-", "sq0atp-", "dapi",
	}, match: prefixed, weight: shaped, chars: isTokenChar, min: 32, alone: true, mixed: true},
	{kind: "jwt", literals: []string{"eyJ"}, match: jwt, weight: shaped},
	{kind: "private-key", literals: []string{"-----BEGIN "}, match: pem, weight: shaped},
	{kind: "password", literals: []string{"://"}, match: urlPassword, weight: guessed},
	{kind: "private-key", literals: []string{"PRIVATE KEY-----", "PRIVATE KEY BLOCK-----"}, match: pemCut, weight: shaped},
	{kind: "password", literals: []string{"-u", "--user", "--proxy-user"}, match: userOption, weight: guessed},
	{kind: "password", literals: []string{"sshpass"}, match: optionOf("-p", separate|attached), weight: guessed},
	{kind: "password", literals: []string{
		"docker login", "podman login", "nerdctl login", "buildah login", "skopeo login", "registry login", "az login", "oc login", "cf login",
	}, match: optionOf("-p", separate|attached), weight: guessed},
	{kind: "password", literals: []string{"mysql", "mariadb", "7z"}, match: optionOf("-p", attached), weight: guessed},
	{kind: "password", literals: []string{"mongo"}, match: optionOf("-p", separate), weight: guessed},
	{kind: "password", literals: []string{"redis-cli"}, match: optionOf("-a", separate), weight: guessed},
	{kind: "password", literals: []string{"ldapsearch", "ldapadd", "ldapmodify", "ldapdelete", "ldapwhoami", "ldappasswd"}, match: optionOf("-w", separate|attached), weight: guessed},
	{kind: "password", literals: []string{"machine ", "default login "}, match: netrc, weight: guessed},
	{kind: "authorization", literals: []string{"authorization"}, match: authorization, weight: guessed},
	{kind: "authorization", literals: []string{"bearer "}, match: bearer, weight: guessed},
	{kind: "cookie", literals: []string{"cookie"}, match: cookie, weight: guessed},
	{kind: "signature", literals: []string{"sig=", "signature="}, match: signature, weight: guessed},
	{kind: "password", literals: []string{`auth"`, `auth\`, "_auth"}, match: storedAuth, weight: guessed},
	// "key" and "pass" stand for all names that end so: see promiseOf.
	{kind: "secret", literals: []string{"key", "pass", "_pwd", ";pwd", "secret", "token", "credential", "mnemonic", "seed_phrase", "recovery_phrase"}, match: assignment, weight: guessed},
}
