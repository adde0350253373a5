package main

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/function"
)

// joinWordsFunction is the variadic one, and the one that fails on request: an empty word is an error of that very argument.
type joinWordsFunction struct{}

func (*joinWordsFunction) Metadata(_ context.Context, _ function.MetadataRequest, response *function.MetadataResponse) {
	response.Name = "join_words"
}

func (*joinWordsFunction) Definition(_ context.Context, _ function.DefinitionRequest, response *function.DefinitionResponse) {
	response.Definition = function.Definition{
		Summary:     "Joins words",
		Description: "Joins any number of words by a separator; an empty word is an error.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "separator", Description: "What stands between two words."},
		},
		VariadicParameter: function.StringParameter{Name: "words", Description: "The words."},
		Return:            function.StringReturn{},
	}
}

func (*joinWordsFunction) Run(ctx context.Context, request function.RunRequest, response *function.RunResponse) {
	var separator string
	var words []string
	if response.Error = request.Arguments.Get(ctx, &separator, &words); response.Error != nil {
		return
	}
	for i, word := range words {
		if word == "" {
			response.Error = function.NewArgumentFuncError(int64(i+1), "A word must not be empty.")
			return
		}
	}
	response.Error = response.Result.Set(ctx, strings.Join(words, separator))
}

// shoutFunction is the plain one; it takes a null, too.
type shoutFunction struct{}

func (*shoutFunction) Metadata(_ context.Context, _ function.MetadataRequest, response *function.MetadataResponse) {
	response.Name = "shout"
}

func (*shoutFunction) Definition(_ context.Context, _ function.DefinitionRequest, response *function.DefinitionResponse) {
	response.Definition = function.Definition{
		Summary:     "Shouts",
		Description: "Returns the text in capitals with an exclamation mark; null stays null.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "text", Description: "What to shout.", AllowNullValue: true},
		},
		Return: function.StringReturn{},
	}
}

func (*shoutFunction) Run(ctx context.Context, request function.RunRequest, response *function.RunResponse) {
	var text *string
	if response.Error = request.Arguments.Get(ctx, &text); response.Error != nil {
		return
	}
	if text != nil {
		shouted := strings.ToUpper(*text) + "!"
		text = &shouted
	}
	response.Error = response.Result.Set(ctx, text)
}
