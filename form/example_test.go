package form_test

import (
	"errors"
	"fmt"

	"github.com/seed38e7925c/parley/form"
)

func ExampleOf() {
	type Seat struct {
		Class string `json:"class" enum:"first=First class,second=Second class" default:"second"`
		Quiet bool   `json:"quiet,omitempty" title:"Quiet coach"`
		Name  string `json:"name" minLength:"2"`
	}
	f, err := form.Of[Seat]()
	if err != nil {
		panic(err)
	}
	asked, err := f.Schema(form.Modern) // what goes to the client
	if err != nil {
		panic(err)
	}
	fmt.Println(string(asked))

	seat, err := form.Decode[Seat]([]byte(`{"name":"Ann"}`)) // what comes back
	fmt.Println(seat, err)
	_, err = form.Decode[Seat]([]byte(`{"name":"A","class":"third"}`))
	fmt.Println(err)
	// Output:
	// {"type":"object","properties":{"class":{"type":"string","oneOf":[{"const":"first","title":"First class"},{"const":"second","title":"Second class"}],"default":"second"},"quiet":{"type":"boolean","title":"Quiet coach"},"name":{"type":"string","minLength":2}},"required":["name"]}
	// {second false Ann} <nil>
	// 2 problems:
	// /name must have at least 2 characters; found 1
	// /class must be one of "first", "second"; found the string "third"
}

func ExampleParse() {
	f, err := form.Parse([]byte(`{"type":"object","properties":{
		"age":{"type":"integer","title":"Your age","minimum":0},
		"plan":{"type":"string","enum":["free","pro"],"enumNames":["Free of charge","Professional"],"default":"free"}},
		"required":["age"]}`))
	if err != nil {
		panic(err)
	}
	for i, typed := range []string{"forty", "2"} {
		fd := &f.Fields[i]
		value, err := fd.ParseText(typed)
		fmt.Printf("%s: %s %v\n", fd.Label(), value, err)
	}
	// Output:
	// Your age:  Your age must be a whole number like 42
	// plan: "pro" <nil>
}

func ExampleForm_Schema() {
	type Toppings struct {
		Wanted []string `json:"wanted" enum:"cheese,olives,basil"`
	}
	f, err := form.Of[Toppings]()
	if err != nil {
		panic(err)
	}
	_, err = f.Schema(form.Dialect{}) // 2025-06-18
	fmt.Println(errors.Is(err, form.ErrInexpressible), err)
	// Output:
	// true field "wanted": the client's protocol revision cannot express the form: it has no multi-select enum
}

func ExampleForm_LooksSecret() {
	type Login struct {
		User   string `json:"user"`
		APIKey string `json:"api_key"`
	}
	f, err := form.Of[Login]()
	if err != nil {
		panic(err)
	}
	fmt.Println(f.LooksSecret())
	// Output:
	// api_key its name contains "api key" true
}
